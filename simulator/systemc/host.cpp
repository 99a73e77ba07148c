#include "simulator/systemc/host.h"

#include <string>

#include "base/check.h"
#include "isa/spec/registers.h"

namespace dovetail::simulator::systemc {

namespace {

std::uint32_t access(tlm_utils::simple_initiator_socket<Host>& socket, tlm::tlm_command command, std::string_view name,
                     std::uint32_t value) {
  std::uint32_t offset = isa::spec::kRegisterWindowBytes;
  for (const isa::spec::Register& row : isa::spec::kRegisters)
    if (row.name == name) offset = row.offset;
  tlm::tlm_generic_payload transaction;
  transaction.set_command(command);
  transaction.set_address(offset);
  transaction.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
  transaction.set_data_length(4);
  transaction.set_streaming_width(4);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->b_transport(transaction, delay);
  DOVETAIL_CHECK(transaction.is_response_ok(), "register " + std::string(name) + " answers with an error");
  return value;
}

}  // namespace

Host::Host(sc_core::sc_module_name name, const HostLaunch& launch)
    : sc_module(name), registers("registers"), interrupt("interrupt"), launch_(launch) {
  SC_HAS_PROCESS(Host);
  SC_THREAD(run);
}

std::uint32_t Host::read(std::string_view name) { return access(registers, tlm::TLM_READ_COMMAND, name, 0); }
void Host::write(std::string_view name, std::uint32_t value) { access(registers, tlm::TLM_WRITE_COMMAND, name, value); }

void Host::run() {
  wait(sc_core::SC_ZERO_TIME);  // the accelerator waits for its start by then
  write("PROGRAM_BASE_LO", static_cast<std::uint32_t>(launch_.program_base));
  write("PROGRAM_BASE_HI", static_cast<std::uint32_t>(launch_.program_base >> 32));
  if (launch_.offset != 0) {
    write("OFFSET_LO", static_cast<std::uint32_t>(launch_.offset));
    write("OFFSET_HI", static_cast<std::uint32_t>(launch_.offset >> 32));
  }
  write("INSTRUCTION_BEGIN", launch_.begin);
  write("INSTRUCTION_COUNT", launch_.count);
  write("INTERRUPT_ENABLE", 3);
  write("CONTROL", 1);
  wait(interrupt.posedge_event());
  done_ = (read("INTERRUPT_STATUS") & 1) != 0;
  status_ = read("STATUS");
  error_instruction_ = read("ERROR_INSTRUCTION");
  cycles_ = read("CYCLES_LO") | std::uint64_t{read("CYCLES_HI")} << 32;
  write("INTERRUPT_STATUS", 3);
}

}  // namespace dovetail::simulator::systemc

// The registers of the SystemC platform after launches that are stopped: the code and the instruction that the design
// reports (tests/differential/simulator/rtl_errors.cpp), without anything of an earlier launch.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <systemc>
#include <tlm>

#include "isa/codec.h"
#include "isa/spec/registers.h"
#include "simulator/cycle/execution.h"
#include "simulator/systemc/accelerator.h"
#include "simulator/systemc/kernel.h"
#include "tests/catch.h"

namespace dovetail::test {

namespace {

using isa::spec::ErrorCode;

constexpr std::uint64_t kMemoryBytes = 0x4000, kProgram = 0x3000, kSource = 0x1000, kTarget = 0x2000;

// A third-party memory that answers bursts of one command which reach into a range with an error.
class Memory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Memory> port;
  std::vector<std::byte> bytes = std::vector<std::byte>(kMemoryBytes);
  struct {
    tlm::tlm_command command = tlm::TLM_IGNORE_COMMAND;
    std::uint64_t begin = 0, end = 0;
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  } bad;

  explicit Memory(sc_core::sc_module_name name) : sc_module(name), port("port") {
    port.register_b_transport(this, &Memory::transport);
    port.register_transport_dbg(this, &Memory::debug);
  }

 private:
  void transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay) {
    const std::uint64_t begin = transaction.get_address(), end = begin + transaction.get_data_length();
    delay += sc_core::sc_time(20, sc_core::SC_NS);
    if (transaction.get_command() == bad.command && begin < bad.end && end > bad.begin)
      return transaction.set_response_status(bad.status);
    debug(transaction);
    transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  unsigned debug(tlm::tlm_generic_payload& transaction) {
    const unsigned char* enables = transaction.get_byte_enable_ptr();
    for (unsigned i = 0; i < transaction.get_data_length(); ++i) {
      if (enables != nullptr && enables[i] == TLM_BYTE_DISABLED) continue;
      std::byte& byte = bytes.at(transaction.get_address() + i);
      if (transaction.is_write()) byte = std::byte{transaction.get_data_ptr()[i]};
      else transaction.get_data_ptr()[i] = std::to_integer<unsigned char>(byte);
    }
    return transaction.get_data_length();
  }
};

// Runs a function that reads and writes registers, as a driver does.
class Driver : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Driver> registers;

  Driver(sc_core::sc_module_name name, std::function<void(Driver&)> work)
      : sc_module(name), registers("registers"), work_(std::move(work)) {
    SC_HAS_PROCESS(Driver);
    SC_THREAD(run);
  }
  std::uint32_t read(std::string_view name) { return access(tlm::TLM_READ_COMMAND, name, 0); }
  void write(std::string_view name, std::uint32_t value) { access(tlm::TLM_WRITE_COMMAND, name, value); }

  void start(std::uint32_t begin, std::uint32_t count) {
    write("PROGRAM_BASE_LO", static_cast<std::uint32_t>(kProgram));
    write("INSTRUCTION_BEGIN", begin);
    write("INSTRUCTION_COUNT", count);
    write("CONTROL", 1);
  }
  // Long enough for every launch here.
  void wait_for_end() { wait(sc_core::sc_time(10, sc_core::SC_US)); }

 private:
  void run() {
    wait(sc_core::SC_ZERO_TIME);
    work_(*this);
  }
  std::uint32_t access(tlm::tlm_command command, std::string_view name, std::uint32_t value) {
    tlm::tlm_generic_payload transaction;
    for (const isa::spec::Register& row : isa::spec::kRegisters)
      if (row.name == name) transaction.set_address(row.offset);
    transaction.set_command(command);
    transaction.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    transaction.set_data_length(4);
    transaction.set_streaming_width(4);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    registers->b_transport(transaction, delay);
    return value;
  }

  std::function<void(Driver&)> work_;
};

// On `tiny`: an UOP load, an INP load, an ACC load, a STORE, FINISH. Each instruction is one word.
std::vector<isa::Instruction> everything() {
  const auto transfer = [](auto body, isa::Memory memory, std::uint64_t element, std::uint32_t elements) {
    body.memory = memory, body.dram_base = element, body.y_size = 1, body.x_size = body.x_stride = elements;
    return body;
  };
  return {{{}, transfer(isa::Load{}, isa::Memory::uop, kSource / 4, 2)},
          {{}, transfer(isa::Load{}, isa::Memory::inp, kSource / 4 + 64, 8)},
          {{.push_next = true}, transfer(isa::Load{}, isa::Memory::acc8, kSource / 4 + 128, 8)},
          {{.pop_prev = true}, transfer(isa::Store{}, isa::Memory::out, kTarget / 4 + 1, 6)},
          {{}, isa::Finish{}}};
}

struct ReportedError {
  std::uint32_t status = 0, instruction = 0, interrupts = 0;
  bool operator==(const ReportedError&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ReportedError& r) {
  return out << "status " << r.status << ", instruction " << r.instruction << ", interrupts " << r.interrupts;
}
ReportedError report(Driver& driver) {
  return {driver.read("STATUS"), driver.read("ERROR_INSTRUCTION"), driver.read("INTERRUPT_STATUS")};
}
ReportedError stopped(ErrorCode code, std::uint32_t instruction) {
  return {4 | static_cast<std::uint32_t>(code) << 4, instruction, 2};
}
constexpr ReportedError kDone{2, 0, 1};

// One accelerator, a memory that `prepare` may corrupt, and a driver that runs `work`.
void on_platform(const std::function<void(Memory&)>& prepare, const std::function<void(Driver&)>& work) {
  simulator::systemc::in_fresh_kernel([&] {
    const auto config = isa::load_config("tiny").value();
    simulator::Execution execution(config, simulator::Values::computed);
    sc_core::sc_signal<bool> interrupt("interrupt");
    simulator::systemc::Accelerator accelerator("accelerator", {.config = config, .image_bytes = kMemoryBytes},
                                                execution);
    Memory memory("memory");
    Driver driver("driver", work);
    const auto code = isa::Codec(config).encode_program(everything()).value();
    std::memcpy(memory.bytes.data() + kProgram, code.data(), code.size());
    prepare(memory);
    driver.registers.bind(accelerator.registers);
    accelerator.interrupt.bind(interrupt);
    accelerator.memory.bind(memory.port);
    sc_core::sc_start();
  });
}

}  // namespace

TEST_CASE("SystemC: an illegal instruction is reported, wherever the launch begins, and cleared when the next starts") {
  std::vector<ReportedError> reported;
  std::uint32_t during = ~0u;
  on_platform([](Memory& memory) { memory.bytes[kProgram + 3 * 16] = std::byte{7}; },
              [&](Driver& driver) {
                for (const std::uint32_t begin : {0u, 1u, 3u}) {
                  driver.start(begin, 5 - begin);
                  driver.wait_for_end();
                  reported.push_back(report(driver));
                  driver.write("INTERRUPT_STATUS", 3);
                }
                driver.start(0, 2);
                during = driver.read("ERROR_INSTRUCTION");
                driver.wait_for_end();
                reported.push_back(report(driver));
              });
  const ReportedError expected = stopped(ErrorCode::illegal, 3);
  CHECK(reported == std::vector{expected, expected, expected, kDone});
  CHECK(during == 0);
}

TEST_CASE("SystemC: an error response of memory stops the launch at the instruction that received it") {
  struct Case {
    tlm::tlm_command command;
    std::uint64_t begin, bytes;
    std::uint32_t instruction;
  };
  const Case cases[] = {{tlm::TLM_READ_COMMAND, kProgram, 8, 0},
                        {tlm::TLM_READ_COMMAND, kProgram + 64, 8, 4},
                        {tlm::TLM_READ_COMMAND, kSource, 8, 0},
                        {tlm::TLM_READ_COMMAND, kSource + 256, 8, 1},
                        {tlm::TLM_READ_COMMAND, kSource + 256 + 24, 8, 1},
                        {tlm::TLM_READ_COMMAND, kSource + 512, 8, 2},
                        {tlm::TLM_WRITE_COMMAND, kTarget + 4, 4, 3},
                        {tlm::TLM_WRITE_COMMAND, kTarget + 24, 4, 3}};
  struct Answer {
    tlm::tlm_response_status status;
    ErrorCode code;
  };
  for (const Case& bad : cases)
    for (const Answer& answer : {Answer{tlm::TLM_ADDRESS_ERROR_RESPONSE, ErrorCode::decode_error},
                                 Answer{tlm::TLM_GENERIC_ERROR_RESPONSE, ErrorCode::slave_error},
                                 Answer{tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE, ErrorCode::slave_error}}) {
      std::vector<ReportedError> reported;
      Memory* memory = nullptr;
      on_platform(
          [&](Memory& made) {
            memory = &made;
            made.bad = {bad.command, bad.begin, bad.begin + bad.bytes, answer.status};
          },
          [&](Driver& driver) {
            driver.start(0, 5);
            driver.wait_for_end();
            reported.push_back(report(driver));
            driver.write("INTERRUPT_STATUS", 3);
            memory->bad.command = tlm::TLM_IGNORE_COMMAND;
            driver.start(0, 5);
            driver.wait_for_end();
            reported.push_back(report(driver));
          });
      CAPTURE(bad.begin, bad.command, answer.status);
      CHECK(reported == std::vector{stopped(answer.code, bad.instruction), kDone});
    }
}

TEST_CASE("SystemC: an instruction that reaches beyond memory gets a decode error") {
  isa::Load far;
  far.memory = isa::Memory::inp;
  far.dram_base = kMemoryBytes / 4 - 1;
  far.y_size = 1;
  far.x_size = far.x_stride = 2;
  const auto code =
      isa::Codec(isa::load_config("tiny").value()).encode_program(std::vector<isa::Instruction>{{{}, far}});
  ReportedError reported;
  on_platform([&](Memory& memory) { std::memcpy(memory.bytes.data() + kProgram + 16, code->data(), 16); },
              [&](Driver& driver) {
                driver.start(0, 5);
                driver.wait_for_end();
                reported = report(driver);
              });
  CHECK(reported == stopped(ErrorCode::decode_error, 1));
}

TEST_CASE("SystemC: a launch that ends beyond the address space, or fills it, is refused at its first instruction") {
  constexpr std::uint32_t kSpace = 1u << 20, kMost = kSpace / 16;  // of `tiny`
  std::vector<ReportedError> reported;
  on_platform([](Memory&) {},
              [&](Driver& driver) {
                const auto launch = [&](std::uint32_t base_hi, std::uint32_t base_lo, std::uint32_t begin,
                                        std::uint32_t count) {
                  driver.write("PROGRAM_BASE_HI", base_hi);
                  driver.write("PROGRAM_BASE_LO", base_lo);
                  driver.write("INSTRUCTION_BEGIN", begin);
                  driver.write("INSTRUCTION_COUNT", count);
                  driver.write("CONTROL", 1);
                  driver.wait_for_end();
                  reported.push_back(report(driver));
                  driver.write("INTERRUPT_STATUS", 3);
                };
                launch(0, 0, 0, kMost);
                launch(0, 0, 7, kMost - 6);
                launch(0, 32, 0, kMost - 1);
                launch(0, kSpace - 16, 0, 2);
                launch(1, 0, 0, 1);
                launch(0, 0, ~0u, ~0u);
                launch(1, 0, 9, 0);  // an empty launch
              });
  std::vector<ReportedError> expected(6, stopped(ErrorCode::address_space, 0));
  expected[1].instruction = 7;
  expected[5].instruction = ~0u;
  expected.push_back(kDone);
  CHECK(reported == expected);
}

}  // namespace dovetail::test

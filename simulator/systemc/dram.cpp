#include "simulator/systemc/dram.h"

#include <algorithm>
#include <utility>

namespace dovetail::simulator::systemc {

DramModule::DramModule(sc_core::sc_module_name name, std::unique_ptr<Memory> model, std::uint64_t base,
                       std::vector<std::byte> bytes)
    : sc_module(name), port("port"), model_(std::move(model)), base_(base), bytes_(std::move(bytes)) {
  port.register_b_transport(this, &DramModule::transport);
  port.register_transport_dbg(this, &DramModule::debug);
}

Answer DramModule::ask(int requester, const BurstExtension& burst, std::uint64_t address) {
  Refused& refused = refused_[static_cast<std::size_t>(burst.direction)];
  if (refused.requester >= 0 && refused.requester != requester)
    return {false, std::max(burst.cycle + 1, refused.until)};
  const Answer answer = model_->accept(burst.cycle, burst.direction, address, burst.beats);
  refused = answer.accepted ? Refused{} : Refused{requester, answer.cycle};
  return answer;
}

bool DramModule::move(tlm::tlm_generic_payload& transaction) {
  const unsigned char* enables = transaction.get_byte_enable_ptr();
  unsigned char* data = transaction.get_data_ptr();
  bool all = true;
  for (unsigned i = 0; i < transaction.get_data_length(); ++i) {
    if (enables != nullptr && enables[i % transaction.get_byte_enable_length()] == TLM_BYTE_DISABLED) continue;
    const std::uint64_t address = transaction.get_address() + i;
    if (address < base_ || address - base_ >= bytes_.size()) all = false;
    else if (transaction.is_write()) bytes_[address - base_] = std::byte{data[i]};
    else if (transaction.is_read()) data[i] = std::to_integer<unsigned char>(bytes_[address - base_]);
  }
  return all;
}

void DramModule::transport(int requester, tlm::tlm_generic_payload& transaction, sc_core::sc_time&) {
  BurstExtension* burst = nullptr;
  transaction.get_extension(burst);
  transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  if (burst != nullptr) {
    burst->answer = ask(requester, *burst, transaction.get_address());
    burst->answered = true;
    if (burst->answer.accepted) burst->delay = model_->explain(burst->direction);
    // Whole beats may reach over the ends of memory.
    if (burst->answer.accepted) move(transaction);
  } else if (!move(transaction)) {
    transaction.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
}

unsigned DramModule::debug(int, tlm::tlm_generic_payload& transaction) {
  return move(transaction) ? transaction.get_data_length() : 0;
}

}  // namespace dovetail::simulator::systemc

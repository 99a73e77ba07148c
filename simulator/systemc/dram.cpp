#include "simulator/systemc/dram.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dovetail::simulator::systemc {

DramModule::DramModule(sc_core::sc_module_name name, std::unique_ptr<Memory> model, std::uint64_t base,
                       std::vector<std::byte> bytes, std::vector<int> requesters)
    : sc_module(name),
      port("port"),
      model_(std::move(model)),
      base_(base),
      bytes_(std::move(bytes)),
      turns_(*model_),
      requesters_(std::move(requesters)) {
  port.register_b_transport(this, &DramModule::transport);
  port.register_transport_dbg(this, &DramModule::debug);
  SC_HAS_PROCESS(DramModule);
  SC_THREAD(arbitrate);
}

// Responds to requests of earlier delta cycles at this time: all simultaneous requests are then known. Reads come
// first; initiators that receive a read response may write in the same cycle, so writes wait for them.
void DramModule::arbitrate() {
  for (;;) {
    if (waiting_.empty()) wait(asked_);
    else wait(sc_core::SC_ZERO_TIME);
    if (serve(Direction::read)) wait(sc_core::SC_ZERO_TIME);
    else serve(Direction::write);
  }
}

// The requesters are known once all sockets are bound.
void DramModule::start_of_simulation() {
  if (requesters_.empty())
    for (std::size_t i = 0; i < port.size(); ++i) requesters_.push_back(static_cast<int>(i));
  turns_.begin(1 + *std::ranges::max_element(requesters_));
}

// False: there are no requests.
bool DramModule::serve(Direction direction) {
  std::map<int, std::vector<Request*>> asking;  // by requester, in the order of their arrival
  for (Request* request : waiting_)
    if (request->burst->direction == direction && request->delta < sc_core::sc_delta_count())
      asking[request->requester].push_back(request);
  std::vector<int> order;
  for (const auto& [requester, requests] : asking) order.push_back(requester);
  turns_.sort(direction, order);
  for (const int requester : order)
    for (Request* request : asking[requester]) {
      answer(*request);
      waiting_.remove(request);
      request->answered.notify(sc_core::SC_ZERO_TIME);
    }
  return !order.empty();
}

void DramModule::answer(Request& request) {
  BurstExtension& burst = *request.burst;
  burst.answered = true;
  burst.answer =
      turns_.accept(request.requester, burst.cycle, burst.direction, request.transaction->get_address(), burst.beats);
  if (!burst.answer.accepted) return;
  burst.delay = model_->explain(burst.direction);
  // Whole beats may extend beyond the ends of memory; written bytes may not.
  const Moved moved = move(*request.transaction);
  if (burst.direction == Direction::read ? moved.inside == 0 : moved.outside != 0)
    request.transaction->set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

DramModule::Moved DramModule::move(tlm::tlm_generic_payload& transaction) {
  const unsigned char* enables = transaction.get_byte_enable_ptr();
  unsigned char* data = transaction.get_data_ptr();
  Moved moved;
  for (unsigned i = 0; i < transaction.get_data_length(); ++i) {
    if (enables != nullptr && enables[i % transaction.get_byte_enable_length()] == TLM_BYTE_DISABLED) continue;
    const std::uint64_t address = transaction.get_address() + i;
    const bool inside = address >= base_ && address - base_ < bytes_.size();
    ++(inside ? moved.inside : moved.outside);
    if (!inside) continue;
    if (transaction.is_write()) bytes_[address - base_] = std::byte{data[i]};
    else if (transaction.is_read()) data[i] = std::to_integer<unsigned char>(bytes_[address - base_]);
  }
  return moved;
}

void DramModule::transport(int socket, tlm::tlm_generic_payload& transaction, sc_core::sc_time&) {
  BurstExtension* burst = nullptr;
  transaction.get_extension(burst);
  transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  if (burst == nullptr) {
    if (move(transaction).outside != 0) transaction.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  Request request{.requester = requesters_[static_cast<std::size_t>(socket)],
                  .transaction = &transaction,
                  .burst = burst,
                  .delta = sc_core::sc_delta_count()};
  if (port.size() == 1) return answer(request);  // no other requester to wait for
  waiting_.push_back(&request);
  asked_.notify(sc_core::SC_ZERO_TIME);
  wait(request.answered);
}

unsigned DramModule::debug(int, tlm::tlm_generic_payload& transaction) {
  return move(transaction).outside == 0 ? transaction.get_data_length() : 0;
}

}  // namespace dovetail::simulator::systemc

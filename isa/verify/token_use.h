// The names of the token FIFOs between the queues, and how an instruction uses them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "isa/instruction.h"

namespace dovetail::isa {

enum class TokenFifo : std::uint8_t { load_to_compute, compute_to_load, compute_to_store, store_to_compute };
inline constexpr std::size_t kTokenFifos = 4;
inline constexpr std::array<TokenFifo, kTokenFifos> kAllFifos = {
    TokenFifo::load_to_compute, TokenFifo::compute_to_load, TokenFifo::compute_to_store, TokenFifo::store_to_compute};
inline constexpr std::size_t kQueues = 3;
inline constexpr std::array<Queue, kQueues> kAllQueues = {Queue::load, Queue::compute, Queue::store};
constexpr std::size_t index(Queue queue) { return static_cast<std::size_t>(queue); }
constexpr std::size_t index(TokenFifo fifo) { return static_cast<std::size_t>(fifo); }
std::string_view name(Queue queue);
Queue producer(TokenFifo fifo);
Queue consumer(TokenFifo fifo);

// The dependency flags of one instruction, resolved. Flags toward a neighbor that the queue does not have are
// dropped: they are illegal.
struct TokenUse {
  Queue queue = Queue::compute;
  std::uint8_t pops = 0;  // bit index(fifo)
  std::uint8_t pushes = 0;
  bool pops_from(TokenFifo fifo) const { return (pops >> index(fifo) & 1) != 0; }
  bool pushes_to(TokenFifo fifo) const { return (pushes >> index(fifo) & 1) != 0; }
};
TokenUse token_use(const Instruction& instruction);

}  // namespace dovetail::isa

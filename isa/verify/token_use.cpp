#include "isa/verify/token_use.h"

namespace dovetail::isa {

std::string_view name(Queue queue) {
  switch (queue) {
    case Queue::load: return "load";
    case Queue::compute: return "compute";
    case Queue::store: return "store";
  }
  return "?";
}

Queue producer(TokenFifo fifo) {
  switch (fifo) {
    case TokenFifo::load_to_compute: return Queue::load;
    case TokenFifo::compute_to_load:
    case TokenFifo::compute_to_store: return Queue::compute;
    case TokenFifo::store_to_compute: return Queue::store;
  }
  return Queue::compute;
}

Queue consumer(TokenFifo fifo) {
  switch (fifo) {
    case TokenFifo::compute_to_load: return Queue::load;
    case TokenFifo::load_to_compute:
    case TokenFifo::store_to_compute: return Queue::compute;
    case TokenFifo::compute_to_store: return Queue::store;
  }
  return Queue::compute;
}

TokenUse token_use(const Instruction& instruction) {
  const auto bit = [](bool flag, TokenFifo fifo) { return static_cast<std::uint8_t>(flag ? 1u << index(fifo) : 0u); };
  const DependencyFlags& flags = instruction.flags;
  TokenUse use{.queue = instruction.queue()};
  switch (use.queue) {
    case Queue::load:
      use.pops = bit(flags.pop_next, TokenFifo::compute_to_load);
      use.pushes = bit(flags.push_next, TokenFifo::load_to_compute);
      break;
    case Queue::compute:
      use.pops = bit(flags.pop_prev, TokenFifo::load_to_compute) | bit(flags.pop_next, TokenFifo::store_to_compute);
      use.pushes = bit(flags.push_prev, TokenFifo::compute_to_load) | bit(flags.push_next, TokenFifo::compute_to_store);
      break;
    case Queue::store:
      use.pops = bit(flags.pop_prev, TokenFifo::compute_to_store);
      use.pushes = bit(flags.push_prev, TokenFifo::store_to_compute);
      break;
  }
  return use;
}

}  // namespace dovetail::isa

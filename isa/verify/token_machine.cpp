#include "isa/verify/token_machine.h"

#include <algorithm>

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

QueueDepths queue_depths(const HardwareConfig& config) {
  return {static_cast<std::size_t>(config.command_queue_depth), static_cast<std::size_t>(config.token_queue_depth)};
}

TokenMachine::TokenMachine(std::span<const Instruction> program, QueueDepths depths) : depths_(depths) {
  uses_.reserve(program.size());
  positions_.reserve(program.size());
  for (const Instruction& instruction : program) {
    const TokenUse use = token_use(instruction);
    QueueState& queue = queues_[index(use.queue)];
    queue.order.push_back(static_cast<std::uint32_t>(uses_.size()));
    positions_.push_back(static_cast<std::uint32_t>(queue.order.size()));
    uses_.push_back(use);
  }
}

bool TokenMachine::run(const OnStart& on_start, FetchPolicy policy) {
  fetch(policy);
  do {
    for (bool moved = true; moved;) {
      moved = false;
      for (QueueState& queue : queues_) moved |= advance(queue, on_start);
    }
  } while (fetch(policy));
  return next_ == size() && std::all_of(queues_.begin(), queues_.end(), [](const QueueState& queue) {
           return queue.started == queue.order.size() && !queue.pushing;
         });
}

std::optional<std::size_t> TokenMachine::head(Queue which) const {
  const QueueState& queue = queues_[index(which)];
  if (queue.started == queue.issued) return std::nullopt;
  return queue.order[queue.started];
}

std::optional<std::size_t> TokenMachine::next_fetch() const {
  if (next_ == size()) return std::nullopt;
  return next_;
}

std::size_t TokenMachine::waiting(Queue queue) const {
  return queues_[index(queue)].issued - queues_[index(queue)].started;
}

bool TokenMachine::fetch(FetchPolicy policy) {
  const std::size_t before = next_;
  const std::size_t last = policy == FetchPolicy::ahead ? size() : std::min(size(), next_ + 1);
  for (; next_ < last; ++next_) {
    QueueState& queue = queues_[index(uses_[next_].queue)];
    const std::size_t occupied = queue.issued - queue.started;
    if (occupied >= depths_.commands) break;
    ++queue.issued;
    queue.peak = std::max(queue.peak, occupied + 1);
  }
  return next_ != before;
}

bool TokenMachine::advance(QueueState& queue, const OnStart& on_start) {
  bool moved = false;
  std::array<std::size_t, kTokenFifos> pushers;
  for (;;) {
    if (queue.pushing) {
      if (!push(queue)) return moved;
      moved = true;
    }
    if (queue.started == queue.issued) {
      queue.dry |= next_ < size();
      return moved;
    }
    const std::size_t instruction = queue.order[queue.started];
    const TokenUse& use = uses_[instruction];
    if (!can_pop(use)) return moved;
    std::size_t count = 0;
    for (std::size_t f = 0; f < kTokenFifos; ++f)
      if ((use.pops >> f & 1) != 0) pushers[count++] = fifos_[f].pushers[fifos_[f].popped++];
    ++queue.started;
    queue.pushing = instruction;
    moved = true;
    if (on_start) on_start(instruction, std::span(pushers.data(), count));
  }
}

bool TokenMachine::push(QueueState& queue) {
  const std::uint8_t pushes = uses_[*queue.pushing].pushes;
  for (std::size_t f = 0; f < kTokenFifos; ++f)
    if ((pushes >> f & 1) != 0 && fifos_[f].pushers.size() - fifos_[f].popped >= depths_.tokens) return false;
  for (std::size_t f = 0; f < kTokenFifos; ++f) {
    if ((pushes >> f & 1) == 0) continue;
    fifos_[f].pushers.push_back(static_cast<std::uint32_t>(*queue.pushing));
    fifos_[f].peak = std::max(fifos_[f].peak, fifos_[f].pushers.size() - fifos_[f].popped);
  }
  queue.pushing.reset();
  return true;
}

bool TokenMachine::can_pop(const TokenUse& use) const {
  for (std::size_t f = 0; f < kTokenFifos; ++f)
    if ((use.pops >> f & 1) != 0 && fifos_[f].popped == fifos_[f].pushers.size()) return false;
  return true;
}

}  // namespace dovetail::isa

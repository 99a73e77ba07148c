#include "isa/verify/token_machine.h"

#include <algorithm>

namespace dovetail::isa {

TokenMachine::TokenMachine(std::span<const Instruction> launch, QueueDepths depths) : queues_(depths) {
  queues_.begin(launch);
  uses_.reserve(launch.size());
  positions_.reserve(launch.size());
  for (const Instruction& instruction : launch) {
    const TokenUse use = token_use(instruction);
    Order& order = orders_[index(use.queue)];
    order.all.push_back(static_cast<std::uint32_t>(uses_.size()));
    positions_.push_back(static_cast<std::uint32_t>(order.all.size()));
    uses_.push_back(use);
  }
}

bool TokenMachine::run(const OnStart& on_start, FetchPolicy policy) {
  fetch(policy);
  do {
    for (bool moved = true; moved;) {
      moved = false;
      for (const Queue queue : kAllQueues) moved |= advance(queue, on_start);
    }
  } while (fetch(policy));
  return next_ == size() && queues_.idle();
}

Stage TokenMachine::stage(std::size_t instruction) const {
  if (instruction >= next_) return Stage::not_fetched;
  const Queue queue = uses_[instruction].queue;
  const std::size_t ended = orders_[index(queue)].ended, before = positions_[instruction] - 1;
  if (before < ended) return Stage::ended;
  return before < ended + queues_.in_flight(queue) ? Stage::in_flight : Stage::waiting;
}

std::optional<std::size_t> TokenMachine::next_fetch() const {
  if (next_ == size()) return std::nullopt;
  return next_;
}

bool TokenMachine::fetch(FetchPolicy policy) {
  const std::size_t before = next_;
  const std::size_t last = policy == FetchPolicy::ahead ? size() : std::min(size(), next_ + 1);
  for (; next_ < last && queues_.has_room(uses_[next_].queue); ++next_) {
    const Queue queue = uses_[next_].queue;
    queues_.fetch(next_, uses_[next_]);
    std::size_t& peak = orders_[index(queue)].peak;
    peak = std::max(peak, queues_.waiting(queue));
  }
  return next_ != before;
}

bool TokenMachine::advance(Queue queue, const OnStart& on_start) {
  bool moved = false;
  for (;;) {
    while (end(queue)) moved = true;
    if (queues_.waiting(queue) == 0 && queues_.in_flight(queue) == 0) orders_[index(queue)].dry |= next_ < size();
    const auto head = queues_.ready(queue);
    if (!head) return moved;
    start(queue, *head, on_start);
    moved = true;
  }
}

bool TokenMachine::end(Queue queue) {
  const auto ended = queues_.end(queue);
  if (!ended) return false;
  ++orders_[index(queue)].ended;
  for (const TokenFifo fifo : kAllFifos) {
    if (!uses_[*ended].pushes_to(fifo)) continue;
    Pushes& pushes = fifos_[index(fifo)];
    pushes.pushers.push_back(static_cast<std::uint32_t>(*ended));
    pushes.peak = std::max(pushes.peak, queues_.tokens(fifo));
  }
  return true;
}

void TokenMachine::start(Queue queue, std::size_t instruction, const OnStart& on_start) {
  std::array<std::size_t, kTokenFifos> pushers;
  std::size_t count = 0;
  for (const TokenFifo fifo : kAllFifos)
    if (uses_[instruction].pops_from(fifo))
      pushers[count++] = fifos_[index(fifo)].pushers[fifos_[index(fifo)].popped++];
  queues_.start(queue);
  if (on_start) on_start(instruction, std::span(pushers.data(), count));
}

}  // namespace dovetail::isa

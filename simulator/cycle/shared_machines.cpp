#include "simulator/cycle/shared_machines.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace dovetail::simulator {

SharedMachines::SharedMachines(const isa::AcceleratorConfigs& configs, Memory& memory, std::size_t count)
    : memory_(memory), turns_(memory) {
  DOVETAIL_CHECK(count > 0, "there must be a machine");
  for (std::size_t i = 0; i < count; ++i)
    nodes_.push_back(std::make_unique<Node>(*this, configs[i], static_cast<int>(i)));
}

void SharedMachines::begin(std::uint64_t window_bytes, std::vector<std::size_t> running) {
  window_bytes_ = window_bytes;
  running_ = std::move(running);
  turns_.begin(static_cast<int>(nodes_.size()));
}

Cycle SharedMachines::next() const {
  Cycle next = kUnknown;
  for (const std::size_t i : running_) next = std::min(next, nodes_[i]->machine.next());
  return next;
}

// Reads of all machines, then writes, then the events within each machine. A machine requests at most once in each
// direction: a refusal and a grant take effect in later cycles.
void SharedMachines::step(Cycle cycle) {
  DOVETAIL_CHECK(cycle != kUnknown, "a step needs an event");
  for (const Direction direction : {Direction::read, Direction::write}) {
    asking_.clear();
    for (const std::size_t i : running_)
      if (nodes_[i]->machine.asks_from(direction) == cycle) asking_.push_back(static_cast<int>(i));
    turns_.sort(direction, asking_);
    for (const int i : asking_) nodes_[static_cast<std::size_t>(i)]->machine.step(cycle);
  }
  for (const std::size_t i : running_)
    while (nodes_[i]->machine.next() == cycle) nodes_[i]->machine.step(cycle);
}

}  // namespace dovetail::simulator

#include "simulator/memory/fair_turns.h"

#include <algorithm>

namespace dovetail::simulator {

void FairTurns::begin(int requesters) {
  requesters_ = requesters;
  turns_.assign(turns_.size(), {});
  first_ = {};
}

void FairTurns::sort(Direction direction, std::vector<int>& asking) const {
  const int first = first_[static_cast<std::size_t>(direction)];
  const auto distance = [&](int requester) { return (requester - first + requesters_) % requesters_; };
  std::ranges::sort(asking, [&](int a, int b) { return distance(a) < distance(b); });
}

Answer FairTurns::accept(int requester, Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) {
  const std::size_t port = static_cast<std::size_t>(requester) % turns_.size();
  Turn& turn = turns_[port][static_cast<std::size_t>(direction)];
  // A requester that does not repeat its request when it may has given up: its launch was stopped.
  if (turn.refused && turn.requester != requester && cycle <= turn.until)
    return {false, std::max(cycle + 1, turn.until)};
  memory_.use_port(port);
  const Answer answer = memory_.accept(cycle, direction, address, beats);
  if (answer.accepted) turn = {(requester + 1) % requesters_, false, 0};
  else turn = {requester, true, answer.cycle};
  first_[static_cast<std::size_t>(direction)] = turn.requester;
  return answer;
}

}  // namespace dovetail::simulator

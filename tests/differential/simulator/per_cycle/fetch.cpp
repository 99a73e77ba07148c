// docs/reference/timing.md, section 6: fetch.
#include <algorithm>

#include "tests/differential/simulator/per_cycle/model.h"

namespace dovetail::test::per_cycle {

void PerCycle::fetch(Cycle c) {
  simulator::FetchTime& time = trace_.waits->fetch;
  if (fetch_slots_.empty()) {
    ++time.done;
    return;
  }
  if (!fetch_reader_.usable(c)) {
    ++fetch_reader_.waited;
    return;
  }
  time.memory += divide(fetch_reader_.waited, fetch_reader_.delays.front().parts);
  fetch_reader_.waited = 0;
  const std::uint64_t beats_per_instruction =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, config_.instruction_bytes() / config_.bus_bytes));
  const Slot slot = fetch_slots_.front();
  if (beats_of_next_ + 1 < beats_per_instruction) {
    ++beats_of_next_;
  } else {
    const std::size_t unit = isa::index(isa::token_use(program_[next_]).queue);
    CommandQueue& queue = queues_[unit];
    if (queue.waiting.size() >= static_cast<std::size_t>(config_.command_queue_depth)) {
      ++time.queue_full[unit];
      return;
    }
    queue.entering = Command{next_, c};
    beats_of_next_ = 0;
    ++next_;
    last_event_ = c;
  }
  ++time.issue;
  if (slot.last_of_beat) fetch_reader_.leave();
  fetch_slots_.pop_front();
}

}  // namespace dovetail::test::per_cycle

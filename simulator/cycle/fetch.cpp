#include "simulator/cycle/fetch.h"

#include <algorithm>

namespace dovetail::simulator {

using namespace isa::spec;

Fetch::Fetch(Board& board)
    : board_(board),
      beats_per_instruction_(std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(board.config.instruction_bytes() / board.config.bus_bytes))),
      instructions_per_beat_(std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(board.config.bus_bytes / board.config.instruction_bytes()))) {}

void Fetch::clear(std::uint64_t program_address) {
  port_.clear(static_cast<std::uint64_t>(board_.config.outstanding_beats), board_.waits != nullptr);
  next_ = 0;
  beats_of_next_ = beat_of_burst_ = slots_of_beat_ = 0;
  next_slot_ = 0;
  counted_burst_ = false;
  port_.request(Bursts(board_.bus, program_address, board_.program.size(),
                       static_cast<std::uint64_t>(board_.config.instruction_bytes())),
                static_cast<Cycle>(kLaunchToRequest.value));
}

// Issues an instruction in `slot`, its last one, or as soon as its queue has room. False: the time is not known yet.
bool Fetch::issue(Cycle slot) {
  const std::size_t unit = isa::index(board_.routes.of(board_.program[next_]).use.queue);
  CommandQueueTimes& queue = board_.queues[unit];
  const Cycle cycle = std::max(slot, queue.room());
  if (cycle == kUnknown) return false;
  if (board_.waits != nullptr) board_.waits->fetch.queue_full[unit] += cycle - slot;
  queue.enter({next_, cycle});
  if (board_.events != nullptr) {
    (*board_.events)[next_].unit = static_cast<isa::Queue>(unit);
    (*board_.events)[next_].issue = cycle;
  }
  board_.wake(board_.routes.of(board_.program[next_]).use.queue);
  ++next_;
  next_slot_ = cycle + 1;
  return true;
}

void Fetch::advance() {
  while (const ReadPort::Granted* at = port_.arrived()) {
    const std::uint64_t beats = at->burst.beats;
    const std::uint64_t first_slots = at->burst.first_slots, slots = at->burst.slots;
    const Cycle usable = at->first_beat + static_cast<Cycle>(kBeatToSlot.value);
    if (board_.waits != nullptr && !counted_burst_) {
      // Within a burst no slot waits for its beat: only the first one may.
      if (next_slot_ < usable) board_.waits->fetch.memory += divide_wait(usable - next_slot_, port_.delay());
      counted_burst_ = true;
    }
    while (beat_of_burst_ < beats) {
      const Cycle slot = std::max(next_slot_, usable + beat_of_burst_);
      if (beats_per_instruction_ > 1 && beats_of_next_ + 1 < beats_per_instruction_) {
        ++beats_of_next_;
        next_slot_ = slot + 1;
      } else if (instructions_per_beat_ == 1) {
        if (!issue(slot)) return;
        beats_of_next_ = 0;
      } else {
        const std::uint64_t in_beat =
            beat_of_burst_ == 0
                ? first_slots
                : std::min(instructions_per_beat_, slots - first_slots - (beat_of_burst_ - 1) * instructions_per_beat_);
        while (slots_of_beat_ < in_beat) {
          if (!issue(std::max(next_slot_, usable + beat_of_burst_))) return;
          ++slots_of_beat_;
        }
        slots_of_beat_ = 0;
      }
      ++beat_of_burst_;
      port_.use_beat(next_slot_ - 1);
    }
    beat_of_burst_ = 0;
    counted_burst_ = false;
  }
}

void Fetch::finish(Cycle cycles) {
  FetchTime& time = board_.waits->fetch;
  time.issue = next_slot_ - time.total();
  time.done = cycles - next_slot_;
}

}  // namespace dovetail::simulator

#include "simulator/cycle/read_port.h"

#include <algorithm>

namespace dovetail::simulator {

void ReadPort::clear(std::uint64_t buffer_beats, bool explain) {
  *this = {};
  buffer_beats_ = buffer_beats;
  explain_ = explain;
}

void ReadPort::explain(Cycle refused, MemorySplit memory) {
  memory[MemoryCause::full] += refused;
  delays_[accepted_] += memory;
}

void ReadPort::request(const Bursts& bursts, Cycle cycle) {
  bursts_ = bursts;
  if (!bursts_.more()) return;
  next_ = bursts_.next();
  asking_ = true;
  asks_after_ = cycle;
  find_room();
}

void ReadPort::grant(Cycle cycle) {
  beats_granted_ += next_.beats;
  granted_.push({next_, kUnknown});
  if (explain_) {
    MemorySplit& delay = delays_.push({});
    delay[MemoryCause::full] = refused_while_asking_;
    delay[MemoryCause::arbitration] = cycle - asks_from_ - refused_while_asking_;
    refused_while_asking_ = 0;
  }
  if (bursts_.more()) {
    next_ = bursts_.next();
    asks_after_ = cycle + 1;
    find_room();
  } else {
    asking_ = false;
    asks_from_ = kUnknown;
    idle_from_ = cycle + 1;
  }
}

// The whole burst must fit, so enough preceding beats must have left.
void ReadPort::find_room() {
  const std::uint64_t needed = beats_granted_ + next_.beats;
  if (needed <= buffer_beats_) {
    asks_from_ = asks_after_;
    return;
  }
  const std::uint64_t beat = needed - buffer_beats_ - 1;
  if (beat >= beats_used_) {
    asks_from_ = kUnknown;
    return;
  }
  while (runs_.front().first_beat + runs_.front().burst.beats <= beat) runs_.pop_front();
  const Run& run = runs_.front();
  const Cycle leaves = run.begin + run.burst.slots_through(beat - run.first_beat) - 1;
  asks_from_ = std::max(asks_after_, leaves + 1);
}

void ReadPort::use(Cycle begin) {
  const Burst& burst = granted_[used_].burst;
  runs_.push({beats_used_, begin, burst});
  beats_used_ += burst.beats;
  granted_.drop_before(++used_);
  if (explain_) delays_.drop_before(used_);
  if (asking_ && asks_from_ == kUnknown) find_room();
}

void ReadPort::use_beat(Cycle last_slot) {
  Run* run = runs_.empty() ? nullptr : &runs_.back();
  if (run != nullptr && run->begin + run->burst.beats == last_slot && run->burst.slots_per_beat == 1) {
    ++run->burst.beats;
    ++run->burst.slots;
  } else {
    runs_.push({beats_used_, last_slot, {.beats = 1, .slots = 1, .first_slots = 1, .slots_per_beat = 1}});
  }
  ++beats_used_;
  if (++beats_of_burst_used_ == granted_[used_].burst.beats) {
    beats_of_burst_used_ = 0;
    granted_.drop_before(++used_);
    if (explain_) delays_.drop_before(used_);
  }
  if (asking_ && asks_from_ == kUnknown) find_room();
}

}  // namespace dovetail::simulator

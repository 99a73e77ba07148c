#include "simulator/cycle/store.h"

#include <algorithm>

namespace dovetail::simulator {

using namespace isa::spec;

void StoreUnit::clear() {
  active_ = has_burst_ = has_ended_ = false;
  ready_.clear();
  written_.clear();
  unanswered_ = 0;
  writes_from_ = kUnknown;
  last_data_ = last_response_ = last_end_ = counted_ = 0;
}

void StoreUnit::advance() {
  while (!board_.stopped && (active_ ? fill() || end() : start())) {
  }
}

bool StoreUnit::start() {
  Head head;
  if (!find_head(board_, isa::Queue::store, head)) return false;
  const Cycle idle = has_ended_ ? last_end_ + cycles_of(kEndToStart) : 0;
  const Cycle start = std::max({head.from, head.tokens(), idle});
  if (start == kUnknown) return false;
  const isa::Transfer& transfer = std::get<isa::Store>(board_.program[head.instruction].body);
  started_ = start_head(board_, head, start, has_ended_ && idle == start ? StallCause::unit : StallCause::none);
  if (board_.stopped) return false;
  active_ = true;
  bursts_ = transfer.x_size == 0 ? Bursts()
                                 : Bursts(board_.bus, transfer,
                                          static_cast<std::uint64_t>(board_.config.element_bytes(transfer.memory)));
  beats_filled_ = beats_written_ = beat_ = slots_ = 0;
  unanswered_ = 0;
  written_.clear();
  next_slot_ = start + 1;
  has_burst_ = bursts_.more();
  if (has_burst_) burst_ = bursts_.next();
  last_response_ = 0;
  return true;
}

bool StoreUnit::fill() {
  if (!has_burst_) return false;
  const auto places = static_cast<std::uint64_t>(board_.config.outstanding_beats);
  if (beats_filled_ + burst_.beats <= places) {
    next_slot_ += burst_.slots;
  } else {
    for (; beat_ < burst_.beats; ++beat_) {
      Cycle slot = next_slot_;
      if (const std::uint64_t number = beats_filled_ + beat_; number >= places) {
        // The beat reuses the buffer entry of an earlier beat, which must have been sent.
        const std::uint64_t sent = number - places;
        while (!written_.empty() && written_.front().first_beat + written_.front().beats <= sent) written_.pop_front();
        if (written_.empty()) return false;
        const Written& before = written_.front();
        const Cycle free = before.first_cycle + (sent - before.first_beat) + 1;
        if (slot < free) {
          if (board_.waits != nullptr) {
            MemorySplit parts = before.before;
            parts[MemoryCause::bandwidth] += free - before.first_cycle;
            count_memory(board_, isa::Queue::store, started_.instruction, free - slot, parts);
          }
          slot = free;
        }
      }
      next_slot_ = slot + burst_.slots_through(beat_) - (beat_ == 0 ? 0 : burst_.slots_through(beat_ - 1));
    }
    beat_ = 0;
  }
  slots_ += burst_.slots;
  beats_filled_ += burst_.beats;
  ready_.push({burst_, next_slot_ - 1 + cycles_of(kFillToBuffer) + cycles_of(kBufferToWriter)});
  ++unanswered_;
  take();
  has_burst_ = bursts_.more();
  if (has_burst_) burst_ = bursts_.next();
  return true;
}

void StoreUnit::take() {
  if (writes_from_ != kUnknown || ready_.empty()) return;
  taken_ = std::max(ready_.front().to_writer, last_data_);
  writes_from_ = taken_ + cycles_of(kWriterToAddress);
}

// The data path of the port is busy while the preceding burst sends its beats.
void StoreUnit::explain(Cycle refused, const MemorySplit& memory) {
  before_ = {};
  before_[MemoryCause::bandwidth] = taken_ - ready_.front().to_writer;
  before_[MemoryCause::full] = refused;
  delay_ = memory;
  delay_ += before_;
}

void StoreUnit::accepted(Cycle cycle, Cycle response) {
  const std::uint64_t beats = ready_.front().burst.beats;
  written_.push({beats_written_, beats, cycle + cycles_of(kAddressToData), before_});
  beats_written_ += beats;
  last_data_ = cycle + cycles_of(kAddressToData) + beats - 1;
  last_response_ = response;
  --unanswered_;
  ready_.pop_front();
  writes_from_ = kUnknown;
  take();
  board_.wake(Part::store);
}

bool StoreUnit::end() {
  if (has_burst_ || unanswered_ != 0) return false;
  const Cycle complete = slots_ == 0 ? started_.start + 1 : last_response_ + cycles_of(kResponseToEnd);
  const Cycle room = push_room(board_, started_.use);
  if (room == kUnknown) return false;
  const Cycle end = std::max(complete, room);

  const isa::Queue unit = isa::Queue::store;
  if (counted_ < started_.start) {
    // The start cycle counts as a busy cycle of the unit.
    count_waiting(board_, started_, counted_);
    --board_.cycles(unit, UnitClass::hand_over);
  }
  board_.cycles(unit, UnitClass::work) += slots_;
  board_.cycles(unit, UnitClass::memory) += complete - (started_.start + 1) - slots_;
  if (board_.waits != nullptr && complete > next_slot_)
    count_memory(board_, unit, started_.instruction, complete - next_slot_, delay_);
  board_.cycles(unit, UnitClass::push) += end - complete;
  board_.cycles(unit, UnitClass::pipeline) += 2;  // start and end
  counted_ = end + 1;
  last_end_ = end;
  has_ended_ = true;
  active_ = false;
  end_instruction(board_, started_, end);
  return true;
}

void StoreUnit::finish(Cycle cycles) { board_.cycles(isa::Queue::store, UnitClass::fetch) += cycles - counted_; }

}  // namespace dovetail::simulator

// docs/reference/timing.md, section 10: the store unit, and the writer of its bursts.
#include <algorithm>

#include "tests/differential/simulator/per_cycle/model.h"

namespace dovetail::test::per_cycle {

void PerCycle::store(Cycle c) {
  bool work = false, memory = false, push = false;
  const bool was = stored_.has_value();
  if (stored_ && c > stored_->start) {
    if (!fill_slots_.empty()) {
      const Slot slot = fill_slots_.front();
      if (slot.opens_beat && places_.count == config_.outstanding_beats) {
        memory = true;
        ++store_waited_;
      } else {
        work = true;
        if (store_waited_ > 0) {
          // The entry was used by the beat that precedes this one by the number of entries.
          const std::uint64_t sent = beats_opened_ - static_cast<std::uint64_t>(config_.outstanding_beats);
          const auto way =
              std::find_if(ways_.begin(), ways_.end(), [&](const Way& w) { return sent < w.first_beat + w.beats; });
          MemorySplit parts = way->to_address;
          parts[MemoryCause::bandwidth] += c - way->first_data;
          charge(Queue::store, stored_->instruction, store_waited_, parts);
        }
        if (slot.opens_beat) ++places_.change, ++beats_opened_;
        if (slot.last_of_beat && ++filled_of_burst_ == store_bursts_.front().beats) {
          full_.push_back({store_bursts_.front(), c + value(kFillToBuffer) + value(kBufferToWriter)});
          ++unanswered_;
          store_bursts_.pop_front();
          filled_of_burst_ = 0;
        }
        fill_slots_.pop_front();
      }
    } else if (stored_->complete == kNever) {
      if (trace_.events[stored_->instruction].start + 1 == c && response_ == kNever && unanswered_ == 0) {
        stored_->complete = c;
      } else if (unanswered_ == 0 && response_ != kNever && c >= response_ + value(kResponseToEnd)) {
        stored_->complete = c;
      } else {
        memory = true;
        ++store_waited_;
      }
      if (store_waited_ > 0 && stored_->complete != kNever) {
        MemorySplit parts = ways_.back().to_address;
        parts += ways_.back().memory;
        charge(Queue::store, stored_->instruction, store_waited_, parts);
      }
    }
    if (stored_->complete != kNever && c >= stored_->complete) {
      if (has_room(stored_->use)) {
        end(*stored_, c);
        last_store_end_ = c;
        stored_.reset();
      } else {
        push = true;
      }
    }
  }
  bool starts = false;
  if (at_head(Queue::store, c)) {
    const bool idle = !was && (last_store_end_ == kNever || c >= last_store_end_ + value(kEndToStart));
    now_[2] = {.unit = !idle,
               .drain = false,
               .token_prev = token_missing(Queue::store, true),
               .token_next = token_missing(Queue::store, false)};
    starts = idle && tokens_there(Queue::store);
  }
  if (work) add(Queue::store, UnitClass::work);
  else if (memory) add(Queue::store, UnitClass::memory);
  else if (push) add(Queue::store, UnitClass::push);
  else if (was || starts) add(Queue::store, UnitClass::pipeline);
  else add_idle(Queue::store, c);
  if (!starts) return;
  stored_ = start(Queue::store, c);
  const Geometry geometry = geometry_of(config_, std::get<isa::Store>(program_[stored_->instruction].body));
  fill_slots_.assign(geometry.slots.begin(), geometry.slots.end());
  store_bursts_.assign(geometry.bursts.begin(), geometry.bursts.end());
  response_ = kNever;
  ways_.clear();
  beats_opened_ = 0;
}

void PerCycle::writer(Cycle c) {
  if (!sending_.empty() && c >= sending_.front().begin) {
    --places_.change;
    if (--sending_.front().beats == 0) sending_.pop_front();
    else sending_.front().begin = c + 1;
  }
  // It takes the next burst when the last W beat of the previous burst is sent.
  if (!aw_from_ && !full_.empty() && c >= full_.front().p && (last_data_ == kNever || c >= last_data_)) {
    aw_ = full_.front().burst;
    Way way{.first_beat = ways_.empty() ? 0 : ways_.back().first_beat + ways_.back().beats,
            .beats = aw_.beats,
            .to_address = {},
            .memory = {}};
    way.to_address[MemoryCause::bandwidth] = c - full_.front().p;
    ways_.push_back(way);
    full_.pop_front();
    aw_from_ = c + value(kWriterToAddress);
    last_event_ = c;
  }
}

}  // namespace dovetail::test::per_cycle

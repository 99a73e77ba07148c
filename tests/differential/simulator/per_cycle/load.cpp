// docs/reference/timing.md, section 8: the load unit.
#include <utility>

#include "tests/differential/simulator/per_cycle/model.h"

namespace dovetail::test::per_cycle {

void PerCycle::load(Cycle c) {
  // Drainer: it takes the instruction in max(s + 1, previous end), works, and ends.
  bool work = false, memory = false, push = false;
  const bool was_draining = drained_.has_value();
  if (drained_ && c > take_) {
    Running& running = drained_->running;
    if (!load_slots_.empty()) {
      const Slot slot = load_slots_.front();
      if (!slot.data || load_reader_.usable(c)) {
        work = true;
        if (slot.data) charge(Queue::load, running.instruction, load_reader_.waited, load_reader_.delays.front().parts);
        if (slot.last_of_beat) load_reader_.leave();
        load_slots_.pop_front();
        if (load_slots_.empty()) running.complete = c + value(kSlotToEnd);
      } else {
        memory = true;
        ++load_reader_.waited;
      }
    } else {
      if (running.complete == kNever) running.complete = take_ + value(kTakeToSlot);
      if (c >= running.complete) {
        if (has_room(running.use)) {
          end(running, c);
          drained_.reset();
        } else {
          push = true;
        }
      }
    }
  }
  const bool free = !drained_;
  bool taken = false;
  const std::size_t started_not_taken = load_fifo_.size();
  if (free && !load_fifo_.empty() && c >= load_fifo_.front().running.start + value(kStartToTake)) {
    drained_ = std::move(load_fifo_.front());
    load_fifo_.pop_front();
    load_slots_.assign(drained_->geometry.slots.begin(), drained_->geometry.slots.end());
    take_ = c;
    taken = true;
  }

  if (work) add(Queue::load, UnitClass::work);
  else if (memory) add(Queue::load, UnitClass::memory);
  else if (push) add(Queue::load, UnitClass::push);
  else if (was_draining || taken) add(Queue::load, UnitClass::pipeline);
  else add_idle(Queue::load, c);

  if (!at_head(Queue::load, c)) return;
  const bool idle = load_reader_.idle(c), room = started_not_taken < static_cast<std::size_t>(value(kLoadWaiting));
  now_[0] = {.unit = !idle,
             .drain = !room,
             .token_prev = token_missing(Queue::load, true),
             .token_next = token_missing(Queue::load, false)};
  if (!idle || !room || !tokens_there(Queue::load)) return;
  const Running running = start(Queue::load, c);
  Loading loading{running, geometry_of(config_, std::get<isa::Load>(program_[running.instruction].body))};
  load_reader_.left.assign(loading.geometry.bursts.begin(), loading.geometry.bursts.end());
  load_reader_.active_from = c + value(kStartToRequest);
  load_fifo_.push_back(std::move(loading));
}

}  // namespace dovetail::test::per_cycle

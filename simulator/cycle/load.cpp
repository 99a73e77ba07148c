#include "simulator/cycle/load.h"

#include <algorithm>

namespace dovetail::simulator {

using namespace isa::spec;

void Drain::begin(Cycle first_slot, bool has_bursts, std::uint64_t tail_pads) {
  next_slot_ = first_slot;
  bursts_left_ = has_bursts;
  tail_pads_ = tail_pads;
  slots_ = waited_ = 0;
}

bool Drain::advance(ReadPort& port, Board& board, isa::Queue unit, std::size_t instruction) {
  while (bursts_left_) {
    const ReadPort::Granted* at = port.arrived();
    if (at == nullptr) return false;
    const Burst& burst = at->burst;
    next_slot_ += burst.pads;
    const Cycle begin = std::max(next_slot_, at->first_beat + static_cast<Cycle>(kBeatToSlot.value));
    if (begin != next_slot_ && port.explains())
      count_memory(board, unit, instruction, begin - next_slot_, port.delay());
    waited_ += begin - next_slot_;
    slots_ += burst.pads + burst.slots;
    next_slot_ = begin + burst.slots;
    bursts_left_ = !burst.last;
    port.use(begin);
  }
  slots_ += tail_pads_;
  next_slot_ += tail_pads_;
  tail_pads_ = 0;
  return true;
}

void LoadUnit::clear() {
  port_.clear(static_cast<std::uint64_t>(board_.config.outstanding_beats), board_.waits != nullptr);
  waiting_.clear();
  takes_.clear();
  draining_ = false;
  last_end_ = counted_ = 0;
}

void LoadUnit::advance() {
  while (!board_.stopped && (drain() || start())) {
  }
}

bool LoadUnit::start() {
  Head head;
  if (!port_.idle() || !find_head(board_, isa::Queue::load, head)) return false;
  const auto most = static_cast<std::uint64_t>(kLoadWaiting.value);
  Cycle room = 0;
  if (const std::uint64_t before = board_.queues[isa::index(isa::Queue::load)].left(); before >= most) {
    if (takes_.end() <= before - most) return false;
    room = takes_[before - most] + 1;
  }
  const Cycle start = std::max({head.from, head.tokens(), port_.idle_from(), room});
  if (start == kUnknown) return false;
  const StallCause busy = port_.idle_from() == start ? StallCause::unit
                          : room == start            ? StallCause::drain
                                                     : StallCause::none;
  const isa::Transfer& transfer = std::get<isa::Load>(board_.program[head.instruction].body);
  Waiting waiting{.started = start_head(board_, head, start, busy)};
  if (board_.stopped) return false;
  const Bursts bursts(board_.bus, transfer, static_cast<std::uint64_t>(board_.config.element_bytes(transfer.memory)));
  waiting.has_bursts = bursts.more();
  waiting.tail_pads = bursts.tail_pads();
  port_.request(bursts, start + static_cast<Cycle>(kStartToRequest.value));
  waiting_.push(waiting);
  return true;
}

bool LoadUnit::drain() {
  if (waiting_.empty()) return false;
  const Waiting& at = waiting_.front();
  if (!draining_) {
    const Cycle take = std::max(at.started.start + static_cast<Cycle>(kStartToTake.value), last_end_);
    takes_.push(take);
    takes_.drop_before(takes_.end() -
                       std::min<std::uint64_t>(takes_.end(), static_cast<std::uint64_t>(kLoadWaiting.value)));
    drain_.begin(take + static_cast<Cycle>(kTakeToSlot.value), at.has_bursts, at.tail_pads);
    draining_ = true;
    return true;
  }
  if (!drain_.advance(port_, board_, isa::Queue::load, at.started.instruction)) return false;
  const Cycle complete =
      drain_.has_slots() ? drain_.next_slot() - 1 + static_cast<Cycle>(kSlotToEnd.value) : drain_.next_slot();
  const Cycle room = push_room(board_, at.started.use);
  if (room == kUnknown) return false;
  const Cycle end = std::max(complete, room);

  const Cycle take = takes_[takes_.end() - 1];
  if (counted_ < take) {
    count_waiting(board_, at.started, counted_);
    counted_ = take;
  }
  board_.cycles(isa::Queue::load, UnitClass::work) += drain_.slots();
  board_.cycles(isa::Queue::load, UnitClass::memory) += drain_.waited();
  board_.cycles(isa::Queue::load, UnitClass::push) += end - complete;
  board_.cycles(isa::Queue::load, UnitClass::pipeline) +=
      end + 1 - counted_ - drain_.slots() - drain_.waited() - (end - complete);
  counted_ = end + 1;
  last_end_ = end;
  draining_ = false;
  end_instruction(board_, at.started, end);
  waiting_.pop_front();
  return true;
}

void LoadUnit::finish(Cycle cycles) { board_.cycles(isa::Queue::load, UnitClass::fetch) += cycles - counted_; }

}  // namespace dovetail::simulator

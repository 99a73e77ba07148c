#include "simulator/cycle/compute.h"

#include <algorithm>

#include "isa/semantics/uop_loop.h"
#include "isa/spec/alu_ops.h"
#include "isa/verify/accesses.h"

namespace dovetail::simulator {

using namespace isa::spec;

namespace {

// Because of this, stage R never pauses within an instruction: a step leaves U early enough to enter R in its next free
// cycle.
static_assert(kStepToRead.value == 2, "the closed form of the steps' times holds only for two cycles from U to R");

}  // namespace

void ComputeUnit::clear() {
  port_.clear(static_cast<std::uint64_t>(board_.config.outstanding_beats), board_.waits != nullptr);
  in_flight_.clear();
  ends_.clear();
  kind_ = Kind::serial;
  front_free_ = read_free_ = last_begin_ = 0;
  long_results_ = {};
  reads_.clear();
  pushes_.clear();
  counted_ = pushes_counted_ = 0;
}

void ComputeUnit::advance() {
  while (!board_.stopped && (drain() || end() || start())) {
  }
}

bool ComputeUnit::start() {
  Head head;
  if (!find_head(board_, isa::Queue::compute, head)) return false;
  const Kind kind = isa::compute_kind(board_.program[head.instruction]);
  const std::uint64_t number = in_flight_.end();
  const bool follows = number > 0 && kind == kind_ && kind != Kind::serial;

  // The first cycle in which the unit accepts the instruction: `free` after one of the same kind, or when nothing is in
  // flight.
  Cycle free = 0, front = 0;
  if (follows) {
    front = front_free_;
    if (const auto most = static_cast<std::uint64_t>(kComputeInFlight.value); number >= most) {
      if (ends_.end() <= number - most) return false;
      free = ends_[number - most] + 1;
    }
  } else if (number > 0) {
    if (ends_.end() < number) return false;
    free = ends_[number - 1] + cycles_of(kEndToStart);
  }
  const Cycle start = std::max({head.from, head.tokens(), free, front});
  if (start == kUnknown) return false;
  const StallCause busy = number > 0 && front == start  ? StallCause::unit
                          : number > 0 && free == start ? StallCause::drain
                                                        : StallCause::none;
  count_pushes(start);
  in_flight_.push({.started = start_head(board_, head, start, busy), .complete = kUnknown});
  if (board_.stopped) return false;
  kind_ = kind;
  if (kind == Kind::serial) begin_serial(board_.program[head.instruction], start);
  else begin_steps(board_.program[head.instruction], kind, start);
  return true;
}

void ComputeUnit::begin_serial(const isa::Instruction& instruction, Cycle start) {
  Bursts bursts;
  if (const auto* load = std::get_if<isa::Load>(&instruction.body); load != nullptr && load->x_size != 0)
    bursts = Bursts(board_.bus, *load, static_cast<std::uint64_t>(board_.config.element_bytes(load->memory)));
  drain_.begin(start + cycles_of(kStartToStep), bursts.more(), bursts.tail_pads());
  port_.request(bursts, start + cycles_of(kStartToRequest));
}

bool ComputeUnit::drain() {
  if (in_flight_.empty() || in_flight_.back().complete != kUnknown) return false;
  InFlight& at = in_flight_.back();
  if (!drain_.advance(port_, board_, isa::Queue::compute, at.started.instruction)) return false;
  at.complete =
      drain_.has_slots() ? drain_.next_slot() - 1 + cycles_of(kSlotToEnd) : at.started.start + cycles_of(kStartToStep);
  board_.cycles(isa::Queue::compute, UnitClass::work) += drain_.slots();
  board_.cycles(isa::Queue::compute, UnitClass::memory) += drain_.waited();
  return true;
}

void ComputeUnit::begin_steps(const isa::Instruction& instruction, Kind kind, Cycle start) {
  // u and b (timing.md, section 9) of the first step; those of the others follow without a pause.
  const Cycle leaves = std::max(start + cycles_of(kStartToStep),
                                std::max<Cycle>(front_free_ + 1, last_begin_ == 0 ? 0 : last_begin_ - 1));
  const Cycle begin = std::max(leaves + cycles_of(kStepToRead), read_free_);

  Cycle cycles = 0, interlocks = 0, last_cycles = 0, cycles_before_last = 0, to_write = 0;
  if (kind == Kind::gemm) {
    const std::uint64_t steps = isa::semantics::step_count(*isa::uop_loop(instruction));
    const Cycle parameters =
        steps != 0 && isa::has_epilogue(instruction) ? cycles_of(kEpilogueParameterCycles) : Cycle{0};
    last_cycles = steps == 0 ? 1 : cycles_of(kGemmCyclesPerUop);
    cycles = steps == 0 ? 1 : parameters + steps * last_cycles;
    cycles_before_last = steps > 1 ? last_cycles : parameters;
    to_write = cycles_of(kGemmReadToWrite);
    if (board_.config.epilogue) to_write += cycles_of(kAccToOut);
    if (board_.config.epilogue && board_.config.table) to_write += cycles_of(kTableToOut);
  } else {
    const auto& alu = std::get<isa::Alu>(instruction.body);
    const AluSteps steps = alu_steps(alu, board_.uops, board_.config.batch);
    cycles = steps.count == 0 ? 1 : steps.cycles;
    last_cycles = steps.count == 0 ? 1 : steps.last_cycles;
    cycles_before_last = steps.cycles_before_last;
    to_write = cycles_of(read_to_write(info(alu.op).kind));
    if (kind == Kind::alu_long && steps.count != 0) {
      const LongResults::Waits waits = long_results_.enter(alu, board_.uops, board_.config.batch, begin);
      interlocks = waits.cycles;
      cycles += waits.cycles;
      last_cycles += waits.last;
      cycles_before_last += waits.before_last;
    }
    board_.operand_reads += steps.reads - steps.count;
  }

  read_free_ = begin + cycles;
  last_begin_ = read_free_ - last_cycles;
  front_free_ = cycles_before_last == 0 ? leaves : last_begin_ - cycles_before_last - 1;
  in_flight_.back().complete = read_free_ - 1 + to_write + cycles_of(kWriteToEnd);
  reads_.push({begin, read_free_});
  board_.cycles(isa::Queue::compute, UnitClass::work) += cycles - interlocks;
  board_.cycles(isa::Queue::compute, UnitClass::interlock) += interlocks;
}

bool ComputeUnit::end() {
  if (in_flight_.empty() || in_flight_.front().complete == kUnknown) return false;
  const InFlight& at = in_flight_.front();
  const Cycle room = push_room(board_, at.started.use);
  if (room == kUnknown) return false;
  // Instructions end in order, one per cycle: only the oldest waits to push its tokens.
  const Cycle could_end = std::max(at.complete, ends_.end() == 0 ? 0 : ends_[ends_.end() - 1] + 1);
  const Cycle end = std::max(could_end, room);

  const isa::Queue unit = isa::Queue::compute;
  if (counted_ < at.started.start) {
    // The start cycle counts as one in flight.
    count_waiting(board_, at.started, counted_);
    --board_.cycles(unit, UnitClass::hand_over);
    counted_ = at.started.start;
  }
  board_.cycles(unit, UnitClass::pipeline) += end + 1 - counted_;  // finish() subtracts the actual number
  counted_ = end + 1;
  if (end > could_end) pushes_.push({could_end, end});
  const Cycle needed_from = pushes_.empty() ? end + 1 : std::max(pushes_.front().begin, pushes_counted_);
  while (!reads_.empty() && reads_.front().end <= needed_from) reads_.pop_front();

  end_instruction(board_, at.started, end);
  ends_.push(end);
  ends_.drop_before(ends_.end() -
                    std::min<std::uint64_t>(ends_.end(), static_cast<std::uint64_t>(kComputeInFlight.value)));
  in_flight_.pop_front();
  return true;
}

// Precondition: apart from the steps in reads_, no step enters R before cycle `known`.
void ComputeUnit::count_pushes(Cycle known) {
  while (!pushes_.empty()) {
    const Interval push = pushes_.front();
    const Cycle begin = std::max(push.begin, pushes_counted_), end = std::min(push.end, known);
    if (begin < end) {
      Cycle waited = end - begin;
      for (std::uint64_t i = reads_.begin(); i < reads_.end() && reads_[i].begin < end; ++i)
        if (reads_[i].end > begin) waited -= std::min(end, reads_[i].end) - std::max(begin, reads_[i].begin);
      board_.cycles(isa::Queue::compute, UnitClass::push) += waited;
      pushes_counted_ = end;
    }
    if (push.end > known) return;
    pushes_.pop_front();
  }
}

void ComputeUnit::finish(Cycle cycles) {
  count_pushes(kUnknown);
  const isa::Queue unit = isa::Queue::compute;
  board_.cycles(unit, UnitClass::pipeline) -=
      board_.cycles(unit, UnitClass::work) + board_.cycles(unit, UnitClass::interlock) +
      board_.cycles(unit, UnitClass::memory) + board_.cycles(unit, UnitClass::push);
  board_.cycles(unit, UnitClass::fetch) += cycles - counted_;
}

}  // namespace dovetail::simulator

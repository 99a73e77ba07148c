// docs/reference/timing.md, section 9: the compute unit.
#include <algorithm>

#include "isa/semantics/load.h"
#include "isa/semantics/uop_loop.h"
#include "isa/spec/alu_ops.h"
#include "tests/differential/simulator/per_cycle/model.h"

namespace dovetail::test::per_cycle {

PerCycle::Kind PerCycle::kind_of(const isa::Instruction& instruction) const {
  if (isa::product_loop(instruction) != nullptr) return Kind::gemm;
  if (const auto* alu = std::get_if<isa::Alu>(&instruction.body))
    return isa::spec::info(alu->op).kind == isa::spec::AluKind::alu_long ? Kind::alu_long : Kind::alu;
  return Kind::serial;
}

// Expands the steps by the recurrence of section 9.
void PerCycle::expand(const isa::Instruction& instruction, Cycle s, Running& running) {
  const Kind kind = kind_of(instruction);
  if (last_kind_ != kind) last_step_.reset();
  last_kind_ = kind;
  std::optional<Step> within;  // the previous step of this instruction
  Cycle to_write = 0;
  // `reads`: the indices of ACC that an ALU step reads.
  const auto enter = [&](Step step, Cycle cost, const std::vector<std::uint64_t>& reads) {
    step.u = s + value(kStartToStep);
    if (last_step_) step.u = std::max({step.u, last_step_->u + 1, last_step_->b - 1});
    step.b = step.u + value(kStepToRead);
    if (last_step_) step.b = std::max(step.b, last_step_->b + last_step_->c);
    Cycle wait = 0;
    if (kind == Kind::alu_long && !step.empty) {
      for (const auto& [written, dst] : long_writes_)
        if (written > step.b && std::count(reads.begin(), reads.end(), dst) != 0)
          wait = std::max(wait, written - step.b);
    }
    step.c = wait + cost;
    reads_.push_back({step.b, step.b + step.c, wait});
    if (kind == Kind::alu_long && !step.empty) {
      std::erase_if(long_writes_, [&](const auto& write) { return write.first <= step.b; });
      long_writes_.push_back({step.r() + value(kAluLongReadToWrite), step.dst});
    }
    last_step_ = step;
    within = step;
  };
  const isa::UopLoop* loop = isa::uop_loop(instruction);
  const auto* alu = std::get_if<isa::Alu>(&instruction.body);
  if (alu == nullptr) {
    to_write = value(kGemmReadToWrite);
    if (config_.epilogue) to_write += value(kAccToOut) + (config_.table ? value(kTableToOut) : 0);
  } else {
    to_write = value(kind == Kind::alu ? kAluReadToWrite : kAluLongReadToWrite);
  }
  const bool any = loop->iter_out != 0 && loop->iter_in != 0 && loop->uop_begin < loop->uop_end;
  if (any && isa::has_epilogue(instruction)) enter(Step{}, value(kEpilogueParameterCycles), {});
  for (std::uint64_t y = 0; y < loop->iter_out; ++y)
    for (std::uint64_t x = 0; x < loop->iter_in; ++x)
      for (std::uint64_t k = loop->uop_begin; k < loop->uop_end; ++k) {
        Step step;
        step.dst = uops_[k].dst + y * loop->dst_factor_out + x * loop->dst_factor_in;
        step.src = uops_[k].src + y * loop->src_factor_out + x * loop->src_factor_in;
        if (alu == nullptr) {
          enter(step, value(kGemmCyclesPerUop), {});
        } else if (const std::uint64_t elements = isa::spec::source_elements(*alu); elements == 0) {
          const Cycle batch = static_cast<Cycle>(config_.batch);
          enter(step,
                alu->op == isa::AluOp::recip   ? batch * value(kRecipCyclesPerRow)
                : alu->op == isa::AluOp::rsqrt ? batch * value(kRsqrtCyclesPerRow)
                                               : 1,
                {step.dst});
        } else {
          const bool repeated =
              within && within->src == step.src && !(within->dst >= step.src && within->dst < step.src + elements);
          std::vector<std::uint64_t> reads{step.dst};
          for (std::uint64_t i = 0; i < elements && !repeated; ++i) reads.push_back(step.src + i);
          enter(step, value(repeated ? kAluCyclesPerUopRepeated : *isa::spec::info(alu->op).vector_cycles), reads);
        }
      }
  if (!any) {
    Step step;
    step.empty = true;
    enter(step, 1, {});
  }
  running.complete = last_step_->r() + to_write + value(kWriteToEnd);
}

void PerCycle::compute(Cycle c) {
  while (!in_flight_.empty() && in_flight_.front().end != kNever && in_flight_.front().end < c) in_flight_.pop_front();
  while (!reads_.empty() && reads_.front().end <= c) reads_.pop_front();

  bool work = false, interlock = false, memory = false, push = false;
  if (!reads_.empty() && c >= reads_.front().begin)
    (c < reads_.front().begin + reads_.front().interlocked ? interlock : work) = true;
  if (serial_ && !in_flight_.empty() && c > in_flight_.back().start && in_flight_.back().end == kNever) {
    Running& running = in_flight_.back();
    if (!serial_slots_.empty()) {
      const Slot slot = serial_slots_.front();
      if (!slot.data || compute_reader_.usable(c)) {
        work = true;
        if (slot.data)
          charge(Queue::compute, running.instruction, compute_reader_.waited, compute_reader_.delays.front().parts);
        if (slot.last_of_beat) compute_reader_.leave();
        serial_slots_.pop_front();
        if (serial_slots_.empty()) running.complete = c + value(kSlotToEnd);
      } else {
        memory = true;
        ++compute_reader_.waited;
      }
    } else if (running.complete == kNever) {
      running.complete = running.start + 1;
    }
  }
  // Instructions end in order: only the oldest waits to push.
  if (!in_flight_.empty()) {
    const Running& oldest = in_flight_.front();
    push = oldest.complete != kNever && c >= oldest.complete && !has_room(oldest.use);
  }

  // In flight as of this cycle, before an instruction starts in it.
  const std::size_t flying = in_flight_.size();
  const bool at = at_head(Queue::compute, c);
  if (work) add(Queue::compute, UnitClass::work);
  else if (interlock) add(Queue::compute, UnitClass::interlock);
  else if (memory) add(Queue::compute, UnitClass::memory);
  else if (push) add(Queue::compute, UnitClass::push);
  bool classed = work || interlock || memory || push;

  bool may_start = false;
  if (at) {
    const Kind kind = kind_of(program_[head(Queue::compute)]);
    const bool same = flying != 0 && kind == last_kind_ && kind != Kind::serial && !serial_;
    const bool front_free = !last_step_ || last_step_->u <= c;
    const bool drain = flying != 0 && (!same || flying >= static_cast<std::size_t>(value(kComputeInFlight)));
    now_[1] = {.unit = same && !front_free,
               .drain = drain,
               .token_prev = token_missing(Queue::compute, true),
               .token_next = token_missing(Queue::compute, false)};
    may_start = tokens_there(Queue::compute) && (flying == 0 || (!drain && front_free));
  }
  if (!classed && flying == 0 && !may_start) add_idle(Queue::compute, c);
  else if (!classed) add(Queue::compute, UnitClass::pipeline);

  // The oldest instruction that has not ended.
  for (Running& running : in_flight_) {
    if (running.end != kNever) continue;
    if (running.complete != kNever && c >= running.complete && (last_compute_end_ == kNever || c > last_compute_end_) &&
        has_room(running.use)) {
      end(running, c);
      last_compute_end_ = c;
    }
    break;
  }

  if (!may_start) return;
  Running running = start(Queue::compute, c);
  const isa::Instruction& instruction = program_[running.instruction];
  serial_ = kind_of(instruction) == Kind::serial;
  if (serial_) {
    last_kind_ = Kind::serial;
    last_step_.reset();
    Geometry geometry;
    if (const auto* load = std::get_if<isa::Load>(&instruction.body)) {
      geometry = geometry_of(config_, *load);
      if (load->memory == isa::Memory::uop)
        isa::semantics::for_each_loaded_run(
            *load,
            [&](std::uint64_t sram, std::uint64_t count) {
              for (std::uint64_t i = 0; i < count; ++i) uops_[sram + i] = isa::Uop{};
            },
            [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
              const auto bytes = static_cast<std::uint64_t>(config_.uop_bytes());
              for (std::uint64_t i = 0; i < count; ++i)
                uops_[sram + i] = codec_.decode_uop(image_.bytes.subspan((dram + i) * bytes - image_.base, bytes));
            });
    }
    compute_reader_.left.assign(geometry.bursts.begin(), geometry.bursts.end());
    compute_reader_.active_from = c + value(kStartToRequest);
    serial_slots_.assign(geometry.slots.begin(), geometry.slots.end());
  } else {
    expand(instruction, c, running);
  }
  in_flight_.push_back(running);
}

}  // namespace dovetail::test::per_cycle

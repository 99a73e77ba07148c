#include "simulator/cycle/alu_steps.h"

#include <algorithm>
#include <utility>

#include "isa/semantics/uop_loop.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/timing.h"

namespace dovetail::simulator {

namespace {

using Signed = std::int64_t;

struct Cost {
  std::uint64_t repeated, other;
};
Cost cost_of(const isa::Alu& alu, std::int64_t batch) {
  return {static_cast<std::uint64_t>(isa::spec::kAluCyclesPerUopRepeated.value), isa::spec::step_cycles(alu, batch)};
}

bool is_long(const isa::Alu& alu) { return isa::spec::info(alu.op).kind == isa::spec::AluKind::alu_long; }

// One loop variable, over [first, end), with its factor in the linear form.
struct Range {
  Signed first = 0, end = 1, factor = 0;
  Signed count() const { return std::max<Signed>(0, end - first); }
};

// The number of pairs (y, x) with constant + y * outer.factor + x * inner.factor == 0.
std::uint64_t count_zeros(Signed constant, Range outer, Range inner) {
  if (outer.count() == 0 || inner.count() == 0) return 0;
  const auto extremes = [](const Range& range) {
    const Signed a = range.first * range.factor, b = (range.end - 1) * range.factor;
    return std::pair(std::min(a, b), std::max(a, b));
  };
  const auto [outer_min, outer_max] = extremes(outer);
  const auto [inner_min, inner_max] = extremes(inner);
  if (constant + outer_min + inner_min > 0 || constant + outer_max + inner_max < 0) return 0;
  const auto zeros_of = [](Signed rest, const Range& range) -> Signed {
    if (range.factor == 0) return rest == 0 ? range.count() : 0;
    if (rest % range.factor != 0) return 0;
    const Signed at = -rest / range.factor;
    return at >= range.first && at < range.end ? 1 : 0;
  };
  if (outer.factor == 0) return static_cast<std::uint64_t>(outer.count() * zeros_of(constant, inner));
  if (inner.factor == 0) return static_cast<std::uint64_t>(inner.count() * zeros_of(constant, outer));
  if (outer.count() > inner.count()) std::swap(outer, inner);
  Signed zeros = 0;
  for (Signed y = outer.first; y < outer.end; ++y) zeros += zeros_of(constant + y * outer.factor, inner);
  return static_cast<std::uint64_t>(zeros);
}

// Two consecutive steps, at all iterations where they occur. `distance` is dst of the earlier minus src of the later,
// at y = x = 0.
struct Pair {
  bool same_src = false, same_dst = false;
  Signed distance = 0;
  Range outer, inner;
};

class Counter {
 public:
  Counter(const isa::Alu& alu, Cost cost, AluSteps& steps) : alu_(alu), cost_(cost), steps_(steps) {}

  void add(const Pair& pair) {
    const std::uint64_t all = static_cast<std::uint64_t>(pair.outer.count() * pair.inner.count());
    if (all == 0) return;
    const bool interlocks = is_long(alu_);
    const std::uint32_t elements = isa::spec::source_elements(alu_);
    if (elements == 0) {
      add(all * cost_.other, interlocks && pair.same_dst ? all : 0);
      return;
    }
    // The indices affect the time only if src repeats, or a read may coincide with the preceding write.
    const bool matters = pair.same_src || interlocks;
    const std::uint64_t on_src = matters ? count_zeros(pair.distance, pair.outer, pair.inner) : 0;
    if (!pair.same_src) {
      add(all * cost_.other, interlocks ? on_src : 0);
      return;
    }
    // Elements after src are operands too, but src is read first.
    std::uint64_t after_src = 0;
    for (std::uint32_t offset = 1; offset < elements; ++offset)
      after_src += count_zeros(pair.distance - Signed{offset}, pair.outer, pair.inner);
    const std::uint64_t repeated = all - on_src - after_src;
    add(repeated * cost_.repeated + (on_src + after_src) * cost_.other,
        interlocks ? on_src + (pair.same_dst ? repeated : 0) : 0);
  }

 private:
  void add(std::uint64_t cycles, std::uint64_t interlocks) {
    steps_.interlocks += interlocks;
    steps_.cycles += cycles + interlocks * static_cast<std::uint64_t>(isa::spec::kAluInterlockCycles.value);
  }

  const isa::Alu& alu_;
  Cost cost_;
  AluSteps& steps_;
};

}  // namespace

AluSteps alu_steps(const isa::Alu& alu, std::span<const isa::Uop> uops, std::int64_t batch) {
  AluSteps steps;
  if (alu.iter_out == 0 || alu.iter_in == 0 || alu.uop_begin >= alu.uop_end) return steps;
  uops = uops.subspan(alu.uop_begin, alu.uop_end - alu.uop_begin);
  const Signed outer = alu.iter_out, inner = alu.iter_in;
  const Signed dst_out = alu.dst_factor_out, dst_in = alu.dst_factor_in, src_out = alu.src_factor_out,
               src_in = alu.src_factor_in;
  const Range all_y{0, outer, dst_out - src_out}, all_x{0, inner, dst_in - src_in};
  const isa::Uop &first = uops.front(), &last = uops.back();
  const auto dst = [](const isa::Uop& uop) { return static_cast<Signed>(uop.dst); };
  const auto src = [](const isa::Uop& uop) { return static_cast<Signed>(uop.src); };

  steps.count = static_cast<std::uint64_t>(outer) * static_cast<std::uint64_t>(inner) * uops.size();
  const Cost cost = cost_of(alu, batch);
  steps.cycles = cost.other;
  steps.first_read = isa::spec::source_elements(alu) == 0 ? first.dst : first.src;
  steps.last_dst =
      isa::semantics::element_index(last.dst, alu.iter_out - 1, alu.iter_in - 1, alu.dst_factor_out, alu.dst_factor_in);

  Counter counter(alu, cost, steps);
  // From one micro-op to the next.
  const auto within = [&](std::size_t k) {
    return Pair{.same_src = uops[k].src == uops[k - 1].src,
                .same_dst = uops[k].dst == uops[k - 1].dst,
                .distance = dst(uops[k - 1]) - src(uops[k]),
                .outer = all_y,
                .inner = all_x};
  };
  // From the last micro-op of an inner iteration to the first of the next.
  const Pair over_inner{.same_src = src(last) == src(first) + src_in,
                        .same_dst = dst(last) == dst(first) + dst_in,
                        .distance = dst(last) - dst_in - src(first),
                        .outer = all_y,
                        .inner = {1, inner, all_x.factor}};
  // From the last micro-op of an outer iteration to the first of the next.
  const Pair over_outer{.same_src = src(last) + (inner - 1) * src_in == src(first) + src_out,
                        .same_dst = dst(last) + (inner - 1) * dst_in == dst(first) + dst_out,
                        .distance = dst(last) + (inner - 1) * dst_in - dst_out - src(first),
                        .outer = {1, outer, all_y.factor},
                        .inner = {}};

  if (isa::spec::source_elements(alu) == 0 && !is_long(alu)) {
    steps.cycles = steps.count * cost.other;
  } else {
    for (std::size_t k = 1; k < uops.size(); ++k) counter.add(within(k));
    counter.add(over_inner);
    counter.add(over_outer);
  }

  // A step that reads only its destination reads it once, however long it is in R; every other step reads one index per
  // cycle in R, except interlock cycles.
  steps.reads =
      isa::spec::source_elements(alu) == 0
          ? steps.count
          : steps.cycles - steps.interlocks * static_cast<std::uint64_t>(isa::spec::kAluInterlockCycles.value);

  // The cycles of the step `back` steps before the last one; `pair` is that step and its predecessor.
  const auto cycles_of = [&](std::uint64_t back) -> std::uint64_t {
    const std::uint64_t step = steps.count - 1 - back;
    if (step == 0) return cost.other;
    const std::size_t k = step % uops.size();
    const Signed x = static_cast<Signed>(step / uops.size() % static_cast<std::uint64_t>(inner));
    const Signed y = static_cast<Signed>(step / uops.size() / static_cast<std::uint64_t>(inner));
    Pair pair = k != 0 ? within(k) : x != 0 ? over_inner : over_outer;
    pair.outer = {y, y + 1, pair.outer.factor};
    pair.inner = {x, x + 1, pair.inner.factor};
    AluSteps alone;
    Counter(alu, cost, alone).add(pair);
    return alone.cycles;
  };
  steps.last_cycles = cycles_of(0);
  steps.cycles_before_last = steps.count > 1 ? cycles_of(1) : 0;
  return steps;
}

}  // namespace dovetail::simulator

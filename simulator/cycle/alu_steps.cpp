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
  bool same_src = false;
  Signed distance = 0;
  Range outer, inner;
};

class Counter {
 public:
  Counter(const isa::Alu& alu, Cost cost, AluSteps& steps) : alu_(alu), cost_(cost), steps_(steps) {}

  void add(const Pair& pair) {
    const std::uint64_t all = static_cast<std::uint64_t>(pair.outer.count() * pair.inner.count());
    if (all == 0) return;
    const std::uint32_t elements = isa::spec::source_elements(alu_);
    // The indices affect the time only if src repeats.
    if (elements == 0 || !pair.same_src) {
      steps_.cycles += all * cost_.other;
      return;
    }
    std::uint64_t written = 0;  // an operand by the earlier step
    for (std::uint32_t offset = 0; offset < elements; ++offset)
      written += count_zeros(pair.distance - Signed{offset}, pair.outer, pair.inner);
    steps_.cycles += (all - written) * cost_.repeated + written * cost_.other;
  }

 private:
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

  Counter counter(alu, cost, steps);
  // From one micro-op to the next.
  const auto within = [&](std::size_t k) {
    return Pair{.same_src = uops[k].src == uops[k - 1].src,
                .distance = dst(uops[k - 1]) - src(uops[k]),
                .outer = all_y,
                .inner = all_x};
  };
  // From the last micro-op of an inner iteration to the first of the next.
  const Pair over_inner{.same_src = src(last) == src(first) + src_in,
                        .distance = dst(last) - dst_in - src(first),
                        .outer = all_y,
                        .inner = {1, inner, all_x.factor}};
  // From the last micro-op of an outer iteration to the first of the next.
  const Pair over_outer{.same_src = src(last) + (inner - 1) * src_in == src(first) + src_out,
                        .distance = dst(last) + (inner - 1) * dst_in - dst_out - src(first),
                        .outer = {1, outer, all_y.factor},
                        .inner = {}};

  if (isa::spec::source_elements(alu) == 0) {
    steps.cycles = steps.count * cost.other;
  } else {
    for (std::size_t k = 1; k < uops.size(); ++k) counter.add(within(k));
    counter.add(over_inner);
    counter.add(over_outer);
  }

  // A step that reads only its destination reads it once, however long it is in R; every other step reads one index per
  // cycle in R.
  steps.reads = isa::spec::source_elements(alu) == 0 ? steps.count : steps.cycles;

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

LongResults::Waits LongResults::enter(const isa::Alu& alu, std::span<const isa::Uop> uops, std::int64_t batch,
                                      std::uint64_t begin) {
  const Cost cost = cost_of(alu, batch);
  const std::uint64_t elements = isa::spec::source_elements(alu);
  Waits waits;
  bool first = true;
  std::uint64_t last_src = 0, last_dst = 0;
  isa::semantics::for_each_step(alu, uops, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
    const std::uint64_t dst = isa::semantics::element_index(uop.dst, y, x, alu.dst_factor_out, alu.dst_factor_in);
    const std::uint64_t src = isa::semantics::element_index(uop.src, y, x, alu.src_factor_out, alu.src_factor_in);
    const bool repeated = elements != 0 && !first && src == last_src && !(last_dst >= src && last_dst < src + elements);
    const std::uint64_t sources = repeated ? 0 : elements;
    std::uint64_t wait = 0;
    for (const Result& result : recent_)
      if (result.written > begin && (result.dst == dst || (result.dst >= src && result.dst < src + sources)))
        wait = std::max(wait, result.written - begin);
    const std::uint64_t end = begin + wait + (repeated ? cost.repeated : cost.other);
    recent_[oldest_] = {.written = end - 1 + static_cast<std::uint64_t>(isa::spec::kAluLongReadToWrite.value),
                        .dst = dst};
    oldest_ = (oldest_ + 1) % recent_.size();
    waits.cycles += wait;
    waits.before_last = waits.last;
    waits.last = wait;
    begin = end;
    first = false;
    last_src = src;
    last_dst = dst;
  });
  return waits;
}

}  // namespace dovetail::simulator

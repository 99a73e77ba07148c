// Slice: start, end (exclusive) and step of some axes, clamped as in Python; steps may be negative.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

struct Range {
  std::int64_t start, step, count;
};

Range clamp_range(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const auto wrap = [&](std::int64_t position) { return position < 0 ? position + extent : position; };
  if (step > 0) {
    start = std::clamp<std::int64_t>(wrap(start), 0, extent);
    end = std::clamp<std::int64_t>(wrap(end), 0, extent);
    return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<std::int64_t>(wrap(start), -1, extent - 1);
  end = std::clamp<std::int64_t>(wrap(end), -1, extent - 1);
  // -INT64_MIN would overflow.
  return {start, step, start > end ? 1 + (start - end - 1) / (step == INT64_MIN ? INT64_MAX : -step) : 0};
}

// One range per axis of the input.
Result<std::vector<Range>> ranges_of(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  const std::vector<std::int64_t> starts = integers_of(*operands.constant(1)),
                                  ends = integers_of(*operands.constant(2));
  std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (operands.has(3)) axes = integers_of(*operands.constant(3));
  if (operands.has(4)) steps = integers_of(*operands.constant(4));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return refuse(operands,
                  fmt::format("starts, ends, axes and steps have {}, {}, {} and {} entries", starts.size(), ends.size(),
                              axes.size(), steps.size()),
                  "give one entry of each per sliced axis");
  DOVETAIL_ASSIGN(const std::vector<std::size_t> positions, normalize_axes(operands, axes, x.size()));
  std::vector<Range> ranges;
  for (const std::int64_t extent : x) ranges.push_back({0, 1, extent});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (steps[i] == 0)
      return refuse(operands, fmt::format("the step on axis {} is 0, but must not be 0", positions[i]),
                    "fix the exporter");
    ranges[positions[i]] = clamp_range(starts[i], ends[i], steps[i], x[positions[i]]);
  }
  return ranges;
}

Result<Types> infer_slice(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<Range> ranges, ranges_of(operands));
  Shape shape;
  for (const Range& range : ranges) shape.push_back(range.count);
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

Result<loops::Program> define_slice(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<Range> ranges, ranges_of(operands));
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Indices source;
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      const auto& [start, step, count] = ranges[k];
      const loops::Expr scaled = step == 1 || count == 1 ? i[k] : i[k] * step;
      source.push_back(start == 0 ? scaled : scaled + start);
    }
    return loops::load(program.in(0), source);
  });
}

}  // namespace

std::vector<OpDef> slice_ops() {
  return {{.op = "Slice",
           .category = Category::injective,
           .infer = infer_slice,
           .define = define_slice,
           .compile_time_inputs = {1, 2, 3, 4},
           .signature = {{{"data"},
                          {"starts", kIndex},
                          {"ends", kIndex},
                          {"axes", kIndex, 0, Presence::optional},
                          {"steps", kIndex, 0, Presence::optional}}},
           .movement = Movement::rearranges}};
}

}  // namespace dovetail::ops

// Pad: constant, edge, reflect and wrap; negative pads cut.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

// Larger than any tensor, and small enough that no sum below overflows.
constexpr std::int64_t kPadLimit = std::numeric_limits<std::int32_t>::max();

struct Pads {
  std::vector<std::int64_t> begin, end;  // one per axis of the input

  // The part of an axis that remains after negative pads.
  struct Kept {
    std::int64_t first, count;
  };
  Kept kept(std::size_t axis, std::int64_t extent) const {
    const std::int64_t first = std::max<std::int64_t>(-begin[axis], 0),
                       past = extent - std::max<std::int64_t>(-end[axis], 0);
    return {first, std::max<std::int64_t>(past - first, 0)};
  }
};

std::string mode_of(const Operands& operands) { return graph::string_attribute(operands.node, "mode", "constant"); }

Result<Pads> pads_of(const Operands& operands) {
  const std::size_t rank = operands.type(0).shape.size();
  const std::vector<std::int64_t> pads = integers_of(*operands.constant(1));
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (operands.has(3)) axes = integers_of(*operands.constant(3));
  DOVETAIL_ASSIGN(const std::vector<std::size_t> positions, normalize_axes(operands, axes, rank));
  if (pads.size() != 2 * positions.size())
    return refuse(operands, fmt::format("pads has {} entries, {} are expected", pads.size(), 2 * positions.size()),
                  "give all begins, then all ends, one of each per padded axis");
  for (const std::int64_t pad : pads)
    if (pad > kPadLimit || pad < -kPadLimit)
      return refuse(operands,
                    fmt::format("pads contains {}, but its values must be from {} to {}", pad, -kPadLimit, kPadLimit),
                    "use smaller pads");
  Pads result{std::vector<std::int64_t>(rank), std::vector<std::int64_t>(rank)};
  for (std::size_t i = 0; i < positions.size(); ++i) {
    result.begin[positions[i]] = pads[i];
    result.end[positions[i]] = pads[positions.size() + i];
  }
  return result;
}

Result<Types> infer_pad(const Operands& operands) {
  const std::string mode = mode_of(operands);
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    return refuse(operands, fmt::format("mode is \"{}\", but must be constant, edge, reflect or wrap", mode),
                  "fix the exporter");
  if (operands.has(2) && element_count(operands.type(2).shape) != 1)
    return refuse(operands,
                  fmt::format("constant_value has shape {}, expected one element", to_string(operands.type(2).shape)),
                  "give a scalar");
  DOVETAIL_ASSIGN(const Pads pads, pads_of(operands));
  graph::TensorType y = operands.type(0);
  for (std::size_t i = 0; i < y.shape.size(); ++i) {
    const std::int64_t extent = y.shape[i];
    if (mode != "constant" && pads.kept(i, extent).count == 0 && std::max(pads.begin[i], pads.end[i]) > 0)
      return refuse(operands,
                    fmt::format("{} pad of {} on axis {}, which has no elements to repeat", mode,
                                std::max(pads.begin[i], pads.end[i]), i),
                    "use mode constant");
    y.shape[i] = extent + pads.begin[i] + pads.end[i];
    if (y.shape[i] < 0)
      return refuse(
          operands,
          fmt::format("pads {} and {} remove more than extent {} of axis {}", pads.begin[i], pads.end[i], extent, i),
          "remove fewer elements");
  }
  return Types{std::move(y)};
}

// The element of the input at `position` (counted from the input's start) of a padded axis. Negative pads are applied
// before the others repeat the remaining elements.
Expr mirror(const Expr& position, const Pads::Kept& kept, const std::string& mode, bool once) {
  const std::int64_t end = kept.first + kept.count - 1;
  const Expr first = tensor::index(kept.first), last = tensor::index(end);
  const auto from_first = [&](Expr x) { return kept.first == 0 ? x : x - kept.first; };
  const auto from_start = [&](Expr x) { return kept.first == 0 ? x : x + kept.first; };
  if (mode == "edge") return tensor::clamp(position, first, last);
  if (mode == "wrap") return from_start(loops::floor_mod(from_first(position), kept.count));
  if (kept.count == 1) return first;
  if (!once) {  // back and forth, without repeating the end elements
    const std::int64_t period = 2 * (kept.count - 1);
    const Expr within = loops::floor_mod(from_first(position), period);
    return from_start(tensor::minimum(within, tensor::index(period) - within));
  }
  const Expr mirrored = kept.first == 0 ? tensor::negative(position) : tensor::index(2 * kept.first) - position;
  const Expr folded = loops::select(tensor::less(position, first), mirrored, position);
  return loops::select(tensor::less(last, folded), tensor::index(2 * end) - folded, folded);
}

Result<loops::Program> define_pad(const Operands& operands) {
  DOVETAIL_ASSIGN(const Pads pads, pads_of(operands));
  const graph::TensorType& x = operands.type(0);
  const std::string mode = mode_of(operands);
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Indices source = i;
    Expr inside;
    const auto require = [&](Expr condition) {
      inside = inside ? loops::logical_and(inside, std::move(condition)) : std::move(condition);
    };
    for (std::size_t k = 0; k < x.shape.size(); ++k) {
      if (pads.begin[k] == 0 && pads.end[k] <= 0) continue;
      if (pads.begin[k] != 0) source[k] = i[k] - pads.begin[k];
      if (pads.begin[k] <= 0 && pads.end[k] <= 0) continue;
      if (mode != "constant") {
        const Pads::Kept kept = pads.kept(k, x.shape[k]);
        source[k] = mirror(source[k], kept, mode, std::max(pads.begin[k], pads.end[k]) < kept.count);
        continue;
      }
      if (pads.begin[k] > 0) require(tensor::less_equal(tensor::index(0), source[k]));
      if (pads.end[k] > 0) require(tensor::less(source[k], tensor::index(x.shape[k])));
    }
    const Expr fill = operands.has(2) ? program.scalar(2) : loops::constant(0, x.dtype);
    if (element_count(x.shape) == 0) return fill;
    const Expr element = loops::load(program.in(0), source);
    return inside ? loops::select(inside, element, fill) : element;
  });
}

}  // namespace

std::vector<OpDef> pad_ops() {
  return {{.op = "Pad",
           .category = Category::injective,
           .infer = infer_pad,
           .define = define_pad,
           .compile_time_inputs = {1, 3},
           .signature = {{{"data", kAny, 'T'},
                          {"pads", kInt64},
                          {"constant_value", kAny, 'T', Presence::optional},
                          {"axes", kIndex, 0, Presence::optional}},
                         {{"mode", AttributeKind::text}}},
           .movement = Movement::pads}};
}

}  // namespace dovetail::ops

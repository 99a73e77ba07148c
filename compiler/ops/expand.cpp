// Expand (broadcast with a shape) and Tile (repeat along axes).
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

// Bidirectional: an extent of 1 in the shape keeps the input's extent.
Result<Types> infer_expand(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  Shape shape = integers_of(*operands.constant(1));
  for (const std::int64_t extent : shape)
    if (extent < 0)
      return refuse(operands,
                    fmt::format("shape {} contains {}, but extents must be at least 0", to_string(shape), extent),
                    "give the extent");
  if (x.shape.size() > shape.size()) shape.insert(shape.begin(), x.shape.size() - shape.size(), 1);
  for (std::size_t i = 1; i <= x.shape.size(); ++i)
    if (shape[shape.size() - i] == 1) shape[shape.size() - i] = x.shape[x.shape.size() - i];
  DOVETAIL_TRY(require_broadcastable(operands, 0, shape));
  return Types{{x.dtype, std::move(shape)}};
}

Result<loops::Program> define_expand(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) { return load_broadcast(program.in(0), i); });
}

Result<Types> infer_tile(const Operands& operands) {
  graph::TensorType y = operands.type(0);
  const std::vector<std::int64_t> repeats = integers_of(*operands.constant(1));
  if (repeats.size() != y.shape.size() || std::ranges::any_of(repeats, [](std::int64_t repeat) { return repeat < 0; }))
    return refuse(
        operands,
        fmt::format("repeats is [{}], but input {} has rank {}", join(repeats), to_string(y.shape), y.shape.size()),
        "give one repeat count per axis, 0 or more");
  for (std::size_t i = 0; i < repeats.size(); ++i) y.shape[i] *= repeats[i];
  return Types{std::move(y)};
}

Result<loops::Program> define_tile(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &y = operands.output(0).shape;
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Indices source = i;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (x[k] != y[k]) source[k] = loops::floor_mod(i[k], x[k]);
    return loops::load(program.in(0), source);
  });
}

}  // namespace

std::vector<OpDef> expand_ops() {
  return {
      {"Expand", Category::injective, infer_expand, define_expand, {1}, {{{"input"}, {"shape", kInt64}}}},
      {"Tile", Category::injective, infer_tile, define_tile, {1}, {{{"input"}, {"repeats", kInt64}}}},
  };
}

}  // namespace dovetail::ops

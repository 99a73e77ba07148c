// OneHot: a new axis of extent `depth`, values[1] at the index and values[0] elsewhere. Indices from -depth on count
// from the end; all others match no position.
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

struct OneHot {
  std::size_t axis;
  std::int64_t depth;
};

Result<OneHot> one_hot_of(const Operands& operands) {
  const NdArray& depth = *operands.constant(1);
  const Shape& indices = operands.type(0).shape;
  if (depth.count() != 1)
    return refuse(operands, fmt::format("depth has shape {}, expected one element", to_string(depth.shape())),
                  "give a scalar");
  const double places = std::trunc(depth.as_double(0));
  if (!(places >= 0 && places < 0x1p31))
    return refuse(operands, fmt::format("depth is {}, but must be from 0 to 2^31", depth.as_double(0)),
                  "fix the exporter");
  if (operands.type(2).shape != Shape{2})
    return refuse(operands, fmt::format("values has shape {}, expected [2]", to_string(operands.type(2).shape)),
                  "give [off value, on value]");
  DOVETAIL_ASSIGN(const std::size_t axis,
                  normalize_axis(operands, graph::int_attribute(operands.node, "axis", -1), indices.size() + 1));
  return OneHot{axis, static_cast<std::int64_t>(places)};
}

Result<Types> infer_one_hot(const Operands& operands) {
  DOVETAIL_ASSIGN(const OneHot one_hot, one_hot_of(operands));
  Shape shape = operands.type(0).shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(one_hot.axis), one_hot.depth);
  return Types{{operands.type(2).dtype, std::move(shape)}};
}

Result<loops::Program> define_one_hot(const Operands& operands) {
  DOVETAIL_ASSIGN(const OneHot one_hot, one_hot_of(operands));
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Indices place = i;
    place.erase(place.begin() + static_cast<std::ptrdiff_t>(one_hot.axis));
    const Expr index = loops::cast(DType::int64, loops::load(program.in(0), place)), &here = i[one_hot.axis];
    const Expr chosen =
        tensor::logical_or(tensor::equal(index, here), tensor::equal(index, here - loops::int_imm(one_hot.depth)));
    const auto value = [&](std::int64_t position) {
      const NdArray* constant = operands.constant(2);
      return constant != nullptr ? immediate(*constant, position)
                                 : loops::load(program.in(2), {tensor::index(position)});
    };
    return loops::select(chosen, value(1), value(0));
  });
}

}  // namespace

std::vector<OpDef> one_hot_ops() {
  return {{"OneHot",
           Category::injective,
           infer_one_hot,
           define_one_hot,
           {1},
           {{{"indices", kNumber}, {"depth", kNumber}, {"values", kAny}}, {{"axis", AttributeKind::integer}}}}};
}

}  // namespace dovetail::ops

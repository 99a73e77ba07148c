// Shape and Size: properties of the input's type. Since shapes are static, constant folding removes these nodes.
#include <algorithm>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

// The extents between the attributes start and end, which are clamped to the rank.
Shape selected_extents(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto position = [&](std::string_view name, std::int64_t fallback) {
    const std::int64_t value = graph::int_attribute(operands.node, name, fallback);
    return std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  const std::int64_t start = position("start", 0), end = std::max(position("end", rank), start);
  return Shape(x.begin() + start, x.begin() + end);
}

Result<Types> infer_shape(const Operands& operands) {
  return Types{{DType::int64, {static_cast<std::int64_t>(selected_extents(operands).size())}}};
}

Result<loops::Program> define_shape(const Operands& operands) {
  Naive program(operands);
  const Shape extents = selected_extents(operands);
  return program.map([&](const Indices& i) {
    loops::Expr value = tensor::index(extents.back());
    for (std::size_t k = extents.size() - 1; k-- > 0;)
      value = loops::select(tensor::equal(i[0], tensor::index(static_cast<std::int64_t>(k))), tensor::index(extents[k]),
                            value);
    return value;
  });
}

Result<Types> infer_size(const Operands&) { return Types{{DType::int64, {}}}; }

Result<loops::Program> define_size(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices&) { return tensor::index(element_count(operands.type(0).shape)); });
}

}  // namespace

std::vector<OpDef> shape_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {
      {"Shape",
       Category::injective,
       infer_shape,
       define_shape,
       {},
       {{{"data"}}, {{"end", integer}, {"start", integer}}}},
      {"Size", Category::injective, infer_size, define_size, {}, {{{"data"}}}},
  };
}

}  // namespace dovetail::ops

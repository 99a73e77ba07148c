// LpNormalization: each row along an axis divided by its 1- or 2-norm; a row of zeros stays.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

Result<Types> infer_lp_normalization(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const std::size_t axis, axis_of(operands, -1));
  if (const std::int64_t p = graph::int_attribute(operands.node, "p", 2); p != 1 && p != 2)
    return refuse(operands, fmt::format("p is {}, but must be 1 or 2", p), "fix the exporter");
  return Types{operands.type(0)};
}

Result<loops::Program> define_lp_normalization(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  const bool squares = graph::int_attribute(operands.node, "p", 2) == 2;
  Naive program(operands);
  Axes rows = tensor_axes(x.shape);  // the axis remains, with extent 1
  rows[axis].extent = 1;
  const auto element = [&](const Indices& i) { return loops::cast(wide, loops::load(program.in(0), i)); };
  const loops::Buffer sum = program.reduce("sum", wide, rows, {{"k", x.shape[axis]}},
                                           squares ? tensor::product_sum_reducer() : tensor::sum_reducer(),
                                           [&](const Indices& i, const Indices& r) {
                                             const Expr value = element(with_index(i, axis, r[0]));
                                             return squares ? tensor::square(value) : tensor::absolute(value);
                                           });
  const loops::Buffer norm = program.compute("norm", wide, rows, [&](const Indices& i) {
    const Expr total = loops::load(sum, i);
    return squares ? tensor::square_root(total) : total;
  });
  return program.finish({program.compute(program.block(), x.dtype, tensor_axes(x.shape), [&](const Indices& i) {
    const Expr length = loops::load(norm, with_index(i, axis, tensor::index(0))), zero = tensor::like(0, length);
    return loops::cast(x.dtype, loops::select(tensor::equal(length, zero), zero, tensor::divide(element(i), length)));
  })});
}

}  // namespace

std::vector<OpDef> lp_normalization_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {{"LpNormalization",
           Category::opaque,
           infer_lp_normalization,
           define_lp_normalization,
           {},
           {{{"input", kFloat}}, {{"axis", integer}, {"p", integer}}}}};
}

}  // namespace dovetail::ops

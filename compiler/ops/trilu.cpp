// Trilu: the upper or lower triangle of each matrix, 0 elsewhere. The diagonal's number k may be known only at run
// time.
#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

Result<Types> infer_trilu(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  if (x.shape.size() < 2)
    return refuse(
        operands,
        fmt::format("input of shape {} has rank {}, but at least 2 is required", to_string(x.shape), x.shape.size()),
        "the last two axes must be those of the matrices");
  if (operands.has(1) && element_count(operands.type(1).shape) != 1)
    return refuse(operands, fmt::format("k has shape {}, expected one element", to_string(operands.type(1).shape)),
                  "give a scalar");
  return Types{x};
}

Result<loops::Program> define_trilu(const Operands& operands) {
  Naive program(operands);
  const bool upper = graph::int_attribute(operands.node, "upper", 1) != 0;
  return program.map([&](const Indices& i) {
    const Expr x = loops::load(program.in(0), i), &row = i[i.size() - 2], &column = i.back();
    const Expr diagonal = operands.has(1) ? row + program.scalar(1) : row;
    return loops::select(upper ? tensor::less_equal(diagonal, column) : tensor::less_equal(column, diagonal), x,
                         tensor::like(0, x));
  });
}

}  // namespace

std::vector<OpDef> trilu_ops() {
  return {{"Trilu",
           Category::injective,
           infer_trilu,
           define_trilu,
           {},
           {{{"input"}, {"k", kInt64, 0, Presence::optional}}, {{"upper", AttributeKind::integer}}}}};
}

}  // namespace dovetail::ops

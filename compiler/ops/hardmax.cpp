// Hardmax: 1 at the first largest element along an axis, NaN being the largest of all, 0 elsewhere.
#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_hardmax(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const std::size_t axis, axis_of(operands, -1));
  return Types{operands.type(0)};
}

Result<loops::Program> define_hardmax(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  Naive program(operands);
  Axes rows = tensor_axes(x.shape);  // the axis remains, with extent 1
  rows[axis].extent = 1;
  const std::vector<loops::Buffer> best = program.reduce_tuple(
      {"value", "position"}, {x.dtype, DType::int64}, rows, {{"k", x.shape[axis]}}, tensor::arg_max_reducer(),
      [&](const Indices& i, const Indices& r) {
        return std::vector<loops::Expr>{loops::load(program.in(0), with_index(i, axis, r[0])), r[0]};
      });
  return program.finish({program.compute(program.block(), x.dtype, tensor_axes(x.shape), [&](const Indices& i) {
    const loops::Expr position = loops::load(best[1], with_index(i, axis, tensor::index(0)));
    return loops::select(tensor::equal(i[axis], position), loops::constant(1, x.dtype), loops::constant(0, x.dtype));
  })});
}

}  // namespace

std::vector<OpDef> hardmax_ops() {
  return {{"Hardmax",
           Category::opaque,
           infer_hardmax,
           define_hardmax,
           {},
           {{{"input", kFloat}}, {{"axis", AttributeKind::integer}}}}};
}

}  // namespace dovetail::ops

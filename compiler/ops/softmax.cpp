// Softmax and LogSoftmax along one axis, relative to its maximum, so that exp cannot overflow.
#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

Result<Types> infer_softmax(const Operands& operands) {
  DOVETAIL_ASSIGN([[maybe_unused]] const std::size_t axis, axis_of(operands, -1));
  return Types{operands.type(0)};
}

Result<loops::Program> define_softmax(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  const Axes axes = tensor_axes(x.shape), along{{"k", x.shape[axis]}};
  Axes rows = axes;  // the reduced axis remains, with extent 1
  rows[axis].extent = 1;
  const auto row_of = [&](const Indices& i) { return with_index(i, axis, tensor::index(0)); };

  Naive program(operands);
  const auto element = [&](const Indices& i) { return loops::cast(wide, loops::load(program.in(0), i)); };
  const loops::Buffer largest =
      program.reduce("max", wide, rows, along, tensor::max_reducer(),
                     [&](const Indices& i, const Indices& r) { return element(with_index(i, axis, r[0])); });
  const auto distance = [&](const Indices& i) { return element(i) - loops::load(largest, row_of(i)); };
  const bool logarithmic = operands.node.op == "LogSoftmax";
  const loops::Buffer shifted = program.compute(logarithmic ? "distance" : "exp", wide, axes, [&](const Indices& i) {
    return logarithmic ? distance(i) : tensor::exponential(distance(i));
  });
  const loops::Buffer sum =
      program.reduce("sum", wide, rows, along, tensor::sum_reducer(), [&](const Indices& i, const Indices& r) {
        const Expr value = loops::load(shifted, with_index(i, axis, r[0]));
        return logarithmic ? tensor::exponential(value) : value;
      });
  return program.finish({program.compute(program.block(), x.dtype, axes, [&](const Indices& i) {
    const Expr value = loops::load(shifted, i), total = loops::load(sum, row_of(i));
    return loops::cast(x.dtype, logarithmic ? value - tensor::logarithm(total) : tensor::divide(value, total));
  })});
}

}  // namespace

std::vector<OpDef> softmax_ops() {
  const Signature signature{{{"input", kFloat}}, {{"axis", AttributeKind::integer}}};
  return {{"LogSoftmax", Category::opaque, infer_softmax, define_softmax, {}, signature},
          {.op = "Softmax",
           .category = Category::opaque,
           .infer = infer_softmax,
           .define = define_softmax,
           .signature = signature,
           .takes_prologue = true}};
}

}  // namespace dovetail::ops

// dovetail.qsoftmax: Softmax of an int8 tensor along one axis, in integers (docs/reference/quantization.md).
//
//   m = max x;  e = table[m - x];  s = requantize(sum e, scale, 0);  y = clamp(requantize(e, 2^shift / s, zy))
//
// The quotient is formed in binary64 and rounded to binary32. Elements that `visible` hides do not count for m, and
// have e = 0; in a row without visible elements all have e = table[0].
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/requantize.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

constexpr std::int64_t kDifferences = 256, kMostExtent = 32767;  // 65535 * 32767 < 2^31
constexpr std::int64_t kMostShift = 62;

Result<Types> infer_qsoftmax(const Operands& operands) {
  DOVETAIL_TRY(check_quantized_attributes(operands));
  DOVETAIL_TRY(check_scale_attribute(operands));
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  if (x.shape[axis] > kMostExtent)
    return refuse(
        operands,
        fmt::format("axis {} has {} elements, but at most {} can be summed in int32", axis, x.shape[axis], kMostExtent),
        "keep the operator in float");
  if (operands.type(1).shape != Shape{kDifferences})
    return refuse(operands,
                  fmt::format("the table has shape {}, expected [{}]", to_string(operands.type(1).shape), kDifferences),
                  "give an entry for each difference from the maximum");
  if (operands.has(2)) DOVETAIL_TRY(require_broadcastable(operands, 2, x.shape));
  if (const std::int64_t shift = graph::int_attribute(operands.node, "shift", 0); shift < 0 || shift > kMostShift)
    return refuse(operands, fmt::format("shift is {}, expected 0 to {}", shift, kMostShift), "choose another scale");
  return Types{x};
}

Result<loops::Program> define_qsoftmax(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const Shape& shape = operands.type(0).shape;
  const Axes axes = tensor_axes(shape), along{{"k", shape[axis]}};
  Axes rows = axes;  // the reduced axis remains, with extent 1
  rows[axis].extent = 1;
  const auto row_of = [&](const Indices& i) { return with_index(i, axis, tensor::index(0)); };
  const Expr scale = loops::float_imm(graph::float_attribute(operands.node, "scale", 1));
  const double power = std::ldexp(1.0, static_cast<int>(graph::int_attribute(operands.node, "shift", 0)));

  Naive program(operands);
  const bool hides = operands.has(2);
  const auto visible = [&](const Indices& i) { return load_broadcast(program.in(2), i); };
  const auto step = [&](const Indices& i) { return loops::cast(DType::int32, loops::load(program.in(0), i)); };
  const auto whole = [](std::int64_t value) { return loops::int_imm(value, DType::int32); };
  constexpr std::int64_t kNone = -129;  // less than any step
  const loops::Buffer largest =
      program.reduce("max", DType::int32, rows, along, tensor::max_reducer(), [&](const Indices& i, const Indices& r) {
        const Indices element = with_index(i, axis, r[0]);
        return hides ? loops::select(visible(element), step(element), whole(kNone)) : step(element);
      });
  const loops::Buffer exponentials = program.compute("exp", DType::int32, axes, [&](const Indices& i) {
    const Expr most = loops::load(largest, row_of(i));
    Expr distance = most - step(i);
    if (hides) distance = tensor::maximum(distance, whole(0));
    const Expr entry = loops::cast(DType::int32, loops::load(program.in(1), {loops::cast(DType::int64, distance)}));
    if (!hides) return entry;
    return loops::select(tensor::logical_or(visible(i), tensor::equal(most, whole(kNone))), entry, whole(0));
  });
  const loops::Buffer sum = program.reduce(
      "sum", DType::int32, rows, along, tensor::sum_reducer(),
      [&](const Indices& i, const Indices& r) { return loops::load(exponentials, with_index(i, axis, r[0])); });
  const loops::Buffer factor = program.compute("factor", DType::float32, rows, [&](const Indices& i) {
    const Expr scaled = loops::call(loops::Function::requantize, {loops::load(sum, i), scale, whole(0)});
    const Expr divisor = loops::cast(DType::float64, tensor::maximum(scaled, whole(1)));
    return loops::cast(DType::float32, tensor::divide(loops::constant(power, DType::float64), divisor));
  });
  return program.finish({program.compute(program.block(), DType::int8, axes, [&](const Indices& i) {
    return requantized(operands, loops::load(exponentials, i), loops::load(factor, row_of(i)));
  })});
}

}  // namespace

std::vector<OpDef> qsoftmax_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {
      {.op = "dovetail.qsoftmax",
       .category = Category::opaque,
       .infer = infer_qsoftmax,
       .define = define_qsoftmax,
       .signature = {{{"x", kInt8}, {"table", only(DType::uint16)}, {"visible", kBool, 0, Presence::optional}},
                     quantized_attributes(
                         {{"axis", integer}, {"scale", AttributeKind::real, Presence::required}, {"shift", integer}})},
       .takes_prologue = true}};
}

}  // namespace dovetail::ops

// dovetail.qnormalize: LayerNormalization and RMSNormalization of an int8 tensor, in integers
// (docs/reference/quantization.md). n elements of a row, on the axes from `axis` on, are normalized:
//
//   c = x - zx - m;  m = requantize(sum (x - zx), 1 / n, 0), or 0 without `center`;  d = sum c, or 0
//   v = parts * sum c^2 - requantize(d^2, parts / n, 0) + epsilon      parts * n * (variance + epsilon), in steps^2
//   z = requantize(n * c - d, 2^bits / root(v), 0)                     root(v) = floor(sqrt(v * 2^24)) * 2^-12
//   y = clamp(requantize(requantize(z, scale, 0) + bias, 2^-shift, zy))
//
// Quotients are formed in binary64 and rounded to binary32.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/requantize.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

constexpr std::int64_t kLargestStep = 255;  // |x - zx|
constexpr std::int64_t kInt32Limit = std::int64_t{1} << 31;

std::int64_t row_length(const Shape& shape, std::size_t axis) {
  return element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()));
}

Result<Types> infer_qnormalize(const Operands& operands) {
  DOVETAIL_TRY(check_quantized_attributes(operands));
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const graph::TensorType& x = operands.type(0);
  DOVETAIL_TRY(require_broadcastable(operands, 1, x.shape));
  DOVETAIL_TRY(require_broadcastable(operands, 2, x.shape));
  const auto attribute = [&](std::string_view name) { return graph::int_attribute(operands.node, name, 0); };
  for (const auto& [name, low, high] : {std::tuple{"bits", 0, 20}, {"shift", 0, 16}, {"center", 0, 1}})
    if (const std::int64_t value = attribute(name); value < low || value > high)
      return refuse(operands, fmt::format("{} is {}, expected {} to {}", name, value, low, high),
                    "choose a value in this range");
  const std::int64_t n = row_length(x.shape, axis), parts = attribute("parts"), epsilon = attribute("epsilon");
  const bool fits = parts >= 1 && parts < kInt32Limit && epsilon >= 0 && epsilon < kInt32Limit &&
                    n <= kInt32Limit / (kLargestStep * kLargestStep) / parts &&
                    parts * n * kLargestStep * kLargestStep + epsilon < kInt32Limit;
  if (!fits)
    return refuse(operands,
                  fmt::format("{} parts of {} squares of {} and an epsilon of {} do not fit in int32", parts, n,
                              kLargestStep, epsilon),
                  "choose fewer parts, or keep the operator in float");
  return Types{x};
}

Result<loops::Program> define_qnormalize(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -1));
  const Shape& shape = operands.type(0).shape;
  const auto attribute = [&](std::string_view name) { return graph::int_attribute(operands.node, name, 0); };
  const std::int64_t n = row_length(shape, axis), parts = attribute("parts");
  const bool centers = attribute("center") != 0;
  Axes rows = tensor_axes(shape), along;
  for (std::size_t i = axis; i < shape.size(); ++i) {
    rows[i].extent = 1;
    along.push_back({fmt::format("k{}", i), shape[i]});
  }
  const auto row_of = [&](Indices i) {
    for (std::size_t k = axis; k < i.size(); ++k) i[k] = tensor::index(0);
    return i;
  };
  const auto whole = [](std::int64_t value) { return loops::int_imm(value, DType::int32); };
  const auto requantize = [&](const Expr& value, const Expr& scale) {
    return loops::call(loops::Function::requantize, {value, scale, whole(0)});
  };
  const auto binary32 = [](double value) { return loops::constant(value, DType::float32); };
  const double count = static_cast<double>(std::max<std::int64_t>(n, 1));

  Naive program(operands);
  const auto step = [&](const Indices& i) {
    return centered(loops::load(program.in(0), i), graph::int_attribute(operands.node, "x_zero_point", 0));
  };
  const auto element_of = [&](const Indices& row, const Indices& place) {
    Indices element(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(axis));
    element.insert(element.end(), place.begin(), place.end());
    return element;
  };
  std::optional<loops::Buffer> sum, mean;
  if (centers) {
    sum = program.reduce("sum", DType::int32, rows, along, tensor::sum_reducer(),
                         [&](const Indices& i, const Indices& r) { return step(element_of(i, r)); });
    mean = program.compute("mean", DType::int32, rows,
                           [&](const Indices& i) { return requantize(loops::load(*sum, i), binary32(1 / count)); });
  }
  // An element less the rounded mean, and the sum of these differences.
  const auto deviation = [&](const Indices& i) { return centers ? step(i) - loops::load(*mean, row_of(i)) : step(i); };
  const auto rest = [&](const Indices& row) { return loops::load(*sum, row) - whole(n) * loops::load(*mean, row); };
  const loops::Buffer squares =
      program.reduce("squares", DType::int32, rows, along, tensor::sum_reducer(),
                     [&](const Indices& i, const Indices& r) { return tensor::square(deviation(element_of(i, r))); });
  const loops::Buffer variance = program.compute("variance", DType::int32, rows, [&](const Indices& i) {
    Expr value = whole(parts) * loops::load(squares, i);
    if (centers) value = value - requantize(tensor::square(rest(i)), binary32(static_cast<double>(parts) / count));
    return value + whole(attribute("epsilon"));
  });
  const loops::Buffer root = program.compute("root", DType::int64, rows, [&](const Indices& i) {
    const Expr radicand = loops::cast(DType::int64, loops::load(variance, i)) * loops::int_imm(std::int64_t{1} << 24);
    return loops::cast(DType::int64, tensor::square_root(loops::cast(DType::float64, radicand)));
  });
  const loops::Buffer factor = program.compute("factor", DType::float32, rows, [&](const Indices& i) {
    // The binary64 root may have been rounded up to the next integer.
    const Expr value = loops::load(root, i);
    const Expr radicand = loops::cast(DType::int64, loops::load(variance, i)) * loops::int_imm(std::int64_t{1} << 24);
    const Expr floor = value - loops::cast(DType::int64, tensor::greater(tensor::square(value), radicand));
    const Expr power = loops::constant(std::ldexp(1.0, 12 + static_cast<int>(attribute("bits"))), DType::float64);
    const Expr divisor = loops::cast(DType::float64, tensor::maximum(floor, loops::int_imm(1)));
    return loops::cast(DType::float32, tensor::divide(power, divisor));
  });
  const Expr last = binary32(std::ldexp(1.0, -static_cast<int>(attribute("shift"))));
  return program.finish({program.compute(program.block(), DType::int8, tensor_axes(shape), [&](const Indices& i) {
    const Indices row = row_of(i);
    Expr distance = whole(n) * deviation(i);
    if (centers) distance = distance - rest(row);
    const Expr normalized = requantize(distance, loops::load(factor, row));
    const Expr scaled = requantize(normalized, load_broadcast(program.in(1), i));
    return requantized(operands, scaled + load_broadcast(program.in(2), i), last);
  })});
}

}  // namespace

std::vector<OpDef> qnormalize_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {{.op = "dovetail.qnormalize",
           .category = Category::opaque,
           .infer = infer_qnormalize,
           .define = define_qnormalize,
           .signature = {{{"x", kInt8}, {"scale", kFloat32}, {"bias", kInt32}},
                         quantized_attributes({{"axis", integer},
                                               {"bits", integer, Presence::required},
                                               {"center", integer, Presence::required},
                                               {"epsilon", integer, Presence::required},
                                               {"parts", integer, Presence::required},
                                               {"shift", integer, Presence::required},
                                               {"x_zero_point", integer}})},
           .takes_prologue = true}};
}

}  // namespace dovetail::ops

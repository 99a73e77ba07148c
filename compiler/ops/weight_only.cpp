// dovetail.wconv and dovetail.wgemm: float activations, int8 weights (docs/reference/quantization.md). y = (sum x (w -
// w_zero_point[o])) * scale[o] + bias[o]: the weights are read as bytes, and scaled once per sum instead of once per
// product.
#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/convolve.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

// Operands after x and w, one element per output.
enum : std::size_t { kScale = 2, kBias = 3, kZeroPoint = 4 };

Result<void> require_per_output(const Operands& operands, std::int64_t outputs) {
  DOVETAIL_TRY(require_per_channel(operands, kScale, "scale", outputs));
  DOVETAIL_TRY(require_per_channel(operands, kBias, "bias", outputs));
  return require_per_channel(operands, kZeroPoint, "w_zero_point", outputs);
}

loops::Expr real_weight(const Naive& program, const Operands& operands, const loops::Expr& weight,
                        const loops::Expr& output) {
  const loops::Expr real = loops::cast(DType::float32, weight);
  return operands.has(kZeroPoint) ? real - loops::cast(DType::float32, loops::load(program.in(kZeroPoint), {output}))
                                  : real;
}

loops::Expr scaled(const Naive& program, const Operands& operands, const loops::Expr& sum, const loops::Expr& output) {
  const loops::Expr value = sum * loops::load(program.in(kScale), {output});
  return operands.has(kBias) ? value + loops::load(program.in(kBias), {output}) : value;
}

Result<Types> infer_weight_only_conv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  DOVETAIL_TRY(require_per_output(operands, shape.out_channels));
  return Types{{DType::float32, shape.output()}};
}

Result<loops::Program> define_weight_only_conv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  Naive program(operands);
  const loops::Buffer x = pad_spatial(program, program.in(0), shape.window, loops::constant(0, DType::float32));
  const loops::Buffer sum = convolve(program, x, program.in(1), shape, DType::float32,
                                     [&](const loops::Expr& a, const loops::Expr& w, const loops::Expr& o) {
                                       return a * real_weight(program, operands, w, o);
                                     });
  return program.finish({program.compute("scaled", DType::float32, conv_axes(shape), [&](const Indices& i) {
    return scaled(program, operands, loops::load(sum, i), i[1]);
  })});
}

// x [..., K], w [K, N].
Result<Types> infer_weight_only_gemm(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &w = operands.type(1).shape;
  if (x.size() < 2 || w.size() != 2 || x.back() != w[0])
    return refuse(operands, fmt::format("input {} and weight {} have different K", to_string(x), to_string(w)),
                  "the input must be [..., M, K], the weight [K, N]");
  DOVETAIL_TRY(require_per_output(operands, w[1]));
  Shape y = x;
  y.back() = w[1];
  return Types{{DType::float32, std::move(y)}};
}

Result<loops::Program> define_weight_only_gemm(const Operands& operands) {
  Naive program(operands);
  const Shape& y = operands.output(0).shape;
  Axes axes;
  for (std::size_t i = 0; i + 1 < y.size(); ++i)
    axes.push_back({i + 2 == y.size() ? "m" : fmt::format("b{}", i), y[i]});
  axes.push_back({"n", y.back()});
  const loops::Buffer sum =
      program.reduce("gemm", DType::float32, axes, {{"k", operands.type(1).shape[0]}}, tensor::product_sum_reducer(),
                     [&](const Indices& i, const Indices& r) {
                       Indices row = i;
                       row.back() = r[0];
                       return loops::load(program.in(0), row) *
                              real_weight(program, operands, loops::load(program.in(1), {r[0], i.back()}), i.back());
                     });
  return program.finish({program.compute("scaled", DType::float32, axes, [&](const Indices& i) {
    return scaled(program, operands, loops::load(sum, i), i.back());
  })});
}

}  // namespace

std::vector<OpDef> weight_only_ops() {
  const std::vector<InputRule> inputs{{"x", kFloat32},
                                      {"w", kInt8},
                                      {"scale", kFloat32},
                                      {"bias", kFloat32, 0, Presence::optional},
                                      {"w_zero_point", kInt8, 0, Presence::optional}};
  return {{"dovetail.wconv",
           Category::complex_out_fusable,
           infer_weight_only_conv,
           define_weight_only_conv,
           {},
           {inputs, window_attributes({{"group", AttributeKind::integer}})}},
          {"dovetail.wgemm",
           Category::complex_out_fusable,
           infer_weight_only_gemm,
           define_weight_only_gemm,
           {},
           {inputs, {}}}};
}

}  // namespace dovetail::ops

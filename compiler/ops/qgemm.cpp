// dovetail.qgemm: the integer matrix product (docs/reference/quantization.md). x [..., K], w [N, K]; arithmetic as
// dovetail.qconv.
#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/requantize.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_qgemm(const Operands& operands) {
  DOVETAIL_TRY(check_quantized_attributes(operands));
  const Shape &x = operands.type(0).shape, &w = operands.type(1).shape;
  if (x.empty() || w.size() != 2 || x.back() != w[1])
    return refuse(operands, fmt::format("input {} and weight {} have different K", to_string(x), to_string(w)),
                  "the input must be [..., K], the weight [N, K]");
  DOVETAIL_TRY(require_per_channel(operands, 2, "bias", w[0]));
  DOVETAIL_TRY(require_per_channel(operands, 3, "scale", w[0]));
  DOVETAIL_TRY(require_per_channel(operands, 4, "w_zero_point", w[0]));
  Shape y = x;
  y.back() = w[0];
  return Types{{DType::int8, std::move(y)}};
}

// Rows are m; axes before it b0, b1, ...
Axes gemm_axes(const Shape& y) {
  Axes axes;
  for (std::size_t i = 0; i + 1 < y.size(); ++i)
    axes.push_back({i + 2 == y.size() ? "m" : fmt::format("b{}", i), y[i]});
  axes.push_back({"n", y.back()});
  return axes;
}

Result<loops::Program> define_qgemm(const Operands& operands) {
  Naive program(operands);
  const std::int64_t zero = graph::int_attribute(operands.node, "x_zero_point", 0);
  const Axes axes = gemm_axes(operands.output(0).shape);
  const loops::Buffer sum = program.reduce(
      "gemm", DType::int32, axes, {{"k", operands.type(1).shape[1]}}, tensor::sum_reducer(),
      [&](const Indices& i, const Indices& r) {
        Indices row = i;
        row.back() = r[0];
        return centered(loops::load(program.in(0), row), zero) *
               centered_weight(program, operands, loops::load(program.in(1), {i.back(), r[0]}), 4, i.back());
      });
  return program.finish({program.compute("requantize", DType::int8, axes, [&](const Indices& i) {
    return requantized(operands, loops::load(sum, i) + loops::load(program.in(2), {i.back()}),
                       loops::load(program.in(3), {i.back()}));
  })});
}

}  // namespace

std::vector<OpDef> qgemm_ops() {
  return {{"dovetail.qgemm",
           Category::complex_out_fusable,
           infer_qgemm,
           define_qgemm,
           {},
           {{{"x", kInt8},
             {"w", kInt8},
             {"bias", kInt32},
             {"scale", kFloat32},
             {"w_zero_point", kInt8, 0, Presence::optional}},
            quantized_attributes({{"x_zero_point", AttributeKind::integer}})}}};
}

}  // namespace dovetail::ops

// dovetail.qmatmul: the matrix product of two int8 activations (docs/reference/quantization.md), with the shape rules
// of numpy's matmul. acc = sum (a - za)(b - zb) in int32; y = clamp(requantize(acc, scale, zy), y_min, y_max).
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/batched.h"
#include "compiler/ops/list.h"
#include "compiler/ops/requantize.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_qmatmul(const Operands& operands) {
  DOVETAIL_TRY(check_quantized_attributes(operands));
  DOVETAIL_TRY(check_scale_attribute(operands));
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  const auto largest = [&](std::string_view name) {
    const std::int64_t zero_point = graph::int_attribute(operands.node, name, 0);
    return std::max(127 - zero_point, zero_point + 128);
  };
  const std::int64_t reach = shape.k * largest("a_zero_point") * largest("b_zero_point");
  if (reach >= std::int64_t{1} << 31)
    return refuse(
        operands,
        fmt::format("the accumulator may reach {}, but values of int32 are below {}", reach, std::int64_t{1} << 31),
        "split the reduction");
  return Types{{DType::int8, shape.output()}};
}

Result<loops::Program> define_qmatmul(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  Naive program(operands);
  const std::int64_t za = graph::int_attribute(operands.node, "a_zero_point", 0),
                     zb = graph::int_attribute(operands.node, "b_zero_point", 0);
  const loops::Buffer sum = multiply(
      program, program.in(0), program.in(1), shape, DType::int32,
      [&](const loops::Expr& a, const loops::Expr& b, const Indices&) { return centered(a, za) * centered(b, zb); });
  const loops::Expr scale = loops::float_imm(graph::float_attribute(operands.node, "scale", 1));
  return program.finish({program.compute("requantize", DType::int8, matmul_axes(shape), [&](const Indices& i) {
    return requantized(operands, loops::load(sum, i), scale);
  })});
}

}  // namespace

std::vector<OpDef> qmatmul_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {{"dovetail.qmatmul",
           Category::complex_out_fusable,
           infer_qmatmul,
           define_qmatmul,
           {},
           {{{"a", kInt8}, {"b", kInt8}},
            quantized_attributes({{"a_zero_point", integer},
                                  {"b_zero_point", integer},
                                  {"scale", AttributeKind::real, Presence::required}})}}};
}

}  // namespace dovetail::ops

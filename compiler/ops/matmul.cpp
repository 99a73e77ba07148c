#include <fmt/format.h>

#include "compiler/ops/batched.h"
#include "compiler/ops/families.h"

namespace dovetail::ops {
namespace {

Result<Types> infer(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  return Types{{operands.type(0).dtype, shape.output()}};
}

Result<loops::Program> define(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  Naive program(operands);
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  const loops::Buffer product = multiply(program, program.in(0), program.in(1), shape, wide,
                                         [&](const loops::Expr& a, const loops::Expr& b, const Indices&) { return loops::cast(wide, a) * loops::cast(wide, b); });
  if (wide == dtype) return program.finish({product});
  return program.finish(
      {program.compute("narrow", dtype, matmul_axes(shape), [&](const Indices& i) { return loops::cast(dtype, loops::load(product, i)); })});
}

// MatMulInteger: int32 sums of (a - a_zero_point)(b - b_zero_point).
Result<Types> infer_integer(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  for (const std::size_t i : {2, 3})
    if (operands.has(i) && element_count(operands.type(i).shape) != 1)
      return refuse(operands, fmt::format("zero point {} has shape {}, this version takes one number", i, to_string(operands.type(i).shape)), "quantise per tensor");
  return Types{{DType::int32, shape.output()}};
}

Result<loops::Program> define_integer(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  Naive program(operands);
  const auto centred = [&](const loops::Expr& element, std::size_t zero_point) {
    const loops::Expr wide = loops::cast(DType::int32, element);
    if (!operands.has(zero_point)) return wide;
    const NdArray* constant = operands.constant(zero_point);
    if (constant != nullptr) return constant->as_int64(0) == 0 ? wide : wide - constant->as_int64(0);
    return wide - loops::cast(DType::int32, program.scalar(zero_point));
  };
  return program.finish({multiply(program, program.in(0), program.in(1), shape, DType::int32,
                                  [&](const loops::Expr& a, const loops::Expr& b, const Indices&) { return centred(a, 2) * centred(b, 3); })});
}

}  // namespace

std::vector<OpDef> matmul_ops() {
  constexpr DTypeSet kTypes = kFloat | kIndex;
  return {{"MatMulInteger", Category::complex_out_fusable, infer_integer, define_integer, {},
           {{{"A", kByte}, {"B", kByte}, {"a_zero_point", kByte, 0, Presence::optional}, {"b_zero_point", kByte, 0, Presence::optional}}}},
          {"MatMul", Category::complex_out_fusable, infer, define, {}, {{{"A", kTypes, 'T'}, {"B", kTypes, 'T'}}}}};
}

}  // namespace dovetail::ops

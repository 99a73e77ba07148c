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

}  // namespace

std::vector<OpDef> matmul_ops() {
  constexpr DTypeSet kTypes = kFloat | kIndex;
  return {{"MatMul", Category::complex_out_fusable, infer, define, {}, {{{"A", kTypes, 'T'}, {"B", kTypes, 'T'}}}}};
}

}  // namespace dovetail::ops

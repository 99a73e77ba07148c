#include <fmt/format.h>

#include "compiler/ops/batched.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_matmul(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  return Types{{operands.type(0).dtype, shape.output()}};
}

Result<loops::Program> define_matmul(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  Naive program(operands);
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  const loops::Buffer product = multiply(program, program.in(0), program.in(1), shape, wide,
                                         [&](const loops::Expr& a, const loops::Expr& b, const Indices&) {
                                           return loops::cast(wide, a) * loops::cast(wide, b);
                                         });
  if (wide == dtype) return program.finish({product});
  return program.finish({program.compute("narrow", dtype, matmul_axes(shape), [&](const Indices& i) {
    return loops::cast(dtype, loops::load(product, i));
  })});
}

// MatMulInteger: int32 sums of (a - a_zero_point)(b - b_zero_point). A zero point is one number, or one per row of A or
// column of B.
Result<Types> infer_integer_matmul(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  if (operands.has(2) && element_count(operands.type(2).shape) != 1)
    DOVETAIL_TRY(require_per_channel(operands, 2, "a_zero_point", shape.m));
  if (operands.has(3) && element_count(operands.type(3).shape) != 1)
    DOVETAIL_TRY(require_per_channel(operands, 3, "b_zero_point", shape.n));
  return Types{{DType::int32, shape.output()}};
}

Result<loops::Program> define_integer_matmul(const Operands& operands) {
  DOVETAIL_ASSIGN(const MatMulShape shape, matmul_shape(operands, 0, 1));
  Naive program(operands);
  const auto centered = [&](const loops::Expr& element, std::size_t zero_point, const loops::Expr& slice) {
    const loops::Expr wide = loops::cast(DType::int32, element);
    if (!operands.has(zero_point)) return wide;
    if (element_count(operands.type(zero_point).shape) != 1)
      return wide - loops::cast(DType::int32, loops::load(program.in(zero_point), {slice}));
    const NdArray* constant = operands.constant(zero_point);
    if (constant != nullptr) return constant->as_int64(0) == 0 ? wide : wide - constant->as_int64(0);
    return wide - loops::cast(DType::int32, program.scalar(zero_point));
  };
  return program.finish({multiply(program, program.in(0), program.in(1), shape, DType::int32,
                                  [&](const loops::Expr& a, const loops::Expr& b, const Indices& i) {
                                    // A vector has no row or no column axis; it then has a single zero point at most.
                                    const loops::Expr zero = tensor::index(0);
                                    const loops::Expr row = shape.a_is_vector
                                                                ? zero
                                                                : i[i.size() - (shape.b_is_vector ? 1 : 2)],
                                                      column = shape.b_is_vector ? zero : i.back();
                                    return centered(a, 2, row) * centered(b, 3, column);
                                  })});
}

}  // namespace

std::vector<OpDef> matmul_ops() {
  constexpr DTypeSet kTypes = kFloat | kIndex | only(DType::uint32) | only(DType::uint64);
  return {{"MatMulInteger",
           Category::complex_out_fusable,
           infer_integer_matmul,
           define_integer_matmul,
           {},
           {{{"A", kByte, 'T'},
             {"B", kByte, 'V'},
             {"a_zero_point", kByte, 'T', Presence::optional},
             {"b_zero_point", kByte, 'V', Presence::optional}}}},
          {"MatMul",
           Category::complex_out_fusable,
           infer_matmul,
           define_matmul,
           {},
           {{{"A", kTypes, 'T'}, {"B", kTypes, 'T'}}}}};
}

}  // namespace dovetail::ops

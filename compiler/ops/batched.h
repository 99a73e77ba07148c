// The shape rules of numpy's matmul, shared by MatMul, MatMulInteger and QLinearMatMul.
#pragma once

#include "compiler/ops/naive.h"

namespace dovetail::ops {

// A [..., m, k] times B [..., k, n]; leading axes broadcast. A vector is a row as A, a column as B, and its axis is
// absent from the output.
struct MatMulShape {
  Shape batch;
  std::int64_t m, n, k;
  bool a_is_vector, b_is_vector;
  Shape output() const;
};

// The inputs at positions `a` and `b`.
Result<MatMulShape> matmul_shape(const Operands& operands, std::size_t a, std::size_t b);
// Axes of the output: b0, b1, ..., m, n (those that are present).
Axes matmul_axes(const MatMulShape& shape);
// Block "gemm": sum over k of product(a element, b element, output indices).
loops::Buffer multiply(
    Naive& program, const loops::Buffer& a, const loops::Buffer& b, const MatMulShape& shape, DType accumulator,
    const std::function<loops::Expr(const loops::Expr& a, const loops::Expr& b, const Indices& output)>& product);

}  // namespace dovetail::ops

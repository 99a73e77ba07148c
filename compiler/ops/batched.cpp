#include "compiler/ops/batched.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/broadcast.h"

namespace dovetail::ops {
namespace {

// Drops the last `count` extents.
Shape leading(const Shape& shape, std::size_t count) {
  return Shape(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(std::min(count, shape.size())));
}

// Element of an operand: `batch` indexes its leading axes (aligned at the end, extent 1 repeated), then `own` the
// others.
loops::Expr load_matrix(const loops::Buffer& buffer, const Indices& batch, const Indices& own) {
  const std::size_t lead = buffer->shape.size() - own.size();
  Indices indices(batch.end() - static_cast<std::ptrdiff_t>(lead), batch.end());
  for (std::size_t i = 0; i < lead; ++i)
    if (buffer->shape[i] == 1) indices[i] = loops::int_imm(0);
  indices.insert(indices.end(), own.begin(), own.end());
  return loops::load(buffer, indices);
}

}  // namespace

Shape MatMulShape::output() const {
  Shape shape = batch;
  if (!a_is_vector) shape.push_back(m);
  if (!b_is_vector) shape.push_back(n);
  return shape;
}

Result<MatMulShape> matmul_shape(const Operands& operands, std::size_t position_a, std::size_t position_b) {
  const Shape &a = operands.type(position_a).shape, &b = operands.type(position_b).shape;
  if (a.empty() || b.empty())
    return refuse(operands,
                  fmt::format("A has shape {}, B {}, but a scalar has no matrix product", to_string(a), to_string(b)),
                  "use Mul");
  MatMulShape shape;
  shape.a_is_vector = a.size() == 1;
  shape.b_is_vector = b.size() == 1;
  shape.m = shape.a_is_vector ? 1 : a[a.size() - 2];
  shape.n = shape.b_is_vector ? 1 : b.back();
  shape.k = a.back();
  const std::int64_t k_of_b = shape.b_is_vector ? b[0] : b[b.size() - 2];
  if (shape.k != k_of_b)
    return refuse(operands,
                  fmt::format("A {} has K = {}, B {} has K = {}", to_string(a), shape.k, to_string(b), k_of_b),
                  "the last axis of A and the last but one of B must be equal; insert a Transpose");
  Shape batch = leading(a, 2), other = leading(b, 2);
  const std::size_t rank = std::max(batch.size(), other.size());
  batch.insert(batch.begin(), rank - batch.size(), 1);
  other.insert(other.begin(), rank - other.size(), 1);
  for (std::size_t i = 0; i < rank; ++i) {
    if (batch[i] != other[i] && batch[i] != 1 && other[i] != 1)
      return refuse(operands,
                    fmt::format("leading axes of A {} and B {} do not broadcast: {} and {}", to_string(a), to_string(b),
                                batch[i], other[i]),
                    "corresponding extents must be equal or 1");
    if (batch[i] == 1) batch[i] = other[i];
  }
  shape.batch = std::move(batch);
  return shape;
}

Axes matmul_axes(const MatMulShape& shape) {
  Axes axes;
  for (std::size_t i = 0; i < shape.batch.size(); ++i) axes.push_back({fmt::format("b{}", i), shape.batch[i]});
  if (!shape.a_is_vector) axes.push_back({"m", shape.m});
  if (!shape.b_is_vector) axes.push_back({"n", shape.n});
  return axes;
}

loops::Buffer multiply(
    Naive& program, const loops::Buffer& a, const loops::Buffer& b, const MatMulShape& shape, DType accumulator,
    const std::function<loops::Expr(const loops::Expr&, const loops::Expr&, const Indices&)>& product) {
  return program.reduce("gemm", accumulator, matmul_axes(shape), {{"k", shape.k}}, tensor::product_sum_reducer(),
                        [&](const Indices& i, const Indices& r) {
                          const Indices batch(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(shape.batch.size()));
                          const Indices row = shape.a_is_vector ? Indices{r[0]} : Indices{i[batch.size()], r[0]};
                          const Indices column = shape.b_is_vector ? Indices{r[0]} : Indices{r[0], i.back()};
                          return product(load_matrix(a, batch, row), load_matrix(b, batch, column), i);
                        });
}

}  // namespace dovetail::ops

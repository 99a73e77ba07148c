// Det: the determinant of each square matrix, by Gaussian elimination with partial pivoting. Each step removes one row
// and one column.
#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

constexpr std::int64_t kLargest = 64;  // a step adds three blocks to the program

Result<Types> infer_det(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  const std::size_t rank = x.shape.size();
  if (rank < 2 || x.shape[rank - 1] != x.shape[rank - 2])
    return refuse(operands, fmt::format("input of shape {} does not consist of square matrices", to_string(x.shape)),
                  "the last two extents must be equal");
  if (x.shape.back() > kLargest)
    return refuse(operands, fmt::format("the matrices have {} rows, but may have at most {}", x.shape.back(), kLargest),
                  "compute the determinant outside the model");
  return Types{{x.dtype, Shape(x.shape.begin(), x.shape.end() - 2)}};
}

Result<loops::Program> define_det(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  const std::int64_t rows = x.shape.back();
  Naive program(operands);
  Axes batch;
  for (std::size_t i = 0; i + 2 < x.shape.size(); ++i) batch.push_back({fmt::format("b{}", i), x.shape[i]});
  const auto at = [&](const loops::Buffer& matrix, const Indices& i, const Expr& row, const Expr& column) {
    Indices indices(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch.size()));
    indices.push_back(row);
    indices.push_back(column);
    return loops::cast(wide, loops::load(matrix, indices));
  };
  const auto of_batch = [&](const loops::Buffer& buffer, const Indices& i) {
    return loops::load(buffer, Indices(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch.size())));
  };
  const Expr zero = tensor::index(0);

  loops::Buffer matrix = program.in(0), product;
  for (std::int64_t step = 0; step < rows; ++step) {
    const std::int64_t left = rows - step;
    const std::vector<loops::Buffer> pivot =
        program.reduce_tuple({fmt::format("largest{}", step), fmt::format("row{}", step)}, {wide, DType::int64}, batch,
                             {{"k", left}}, tensor::arg_max_reducer(), [&](const Indices& i, const Indices& r) {
                               return std::vector<Expr>{tensor::absolute(at(matrix, i, r[0], zero)), r[0]};
                             });
    // A column of NaN has no largest element: its first one is used.
    const auto pivot_row = [&](const Indices& i) {
      const Expr row = of_batch(pivot[1], i);
      return loops::select(tensor::less(row, tensor::index(left)), row, zero);
    };
    product = program.compute(fmt::format("product{}", step), wide, batch, [&](const Indices& i) {
      const Expr row = pivot_row(i), value = at(matrix, i, row, zero);
      const Expr signed_value = loops::select(tensor::equal(row, zero), value, tensor::negative(value));
      return product ? loops::load(product, i) * signed_value : signed_value;
    });
    if (left == 1) break;
    Axes smaller = batch;
    smaller.push_back({"y", left - 1});
    smaller.push_back({"x", left - 1});
    // The first row replaces the pivot row. If the pivot is 0, so is the product, whatever follows.
    matrix = program.compute(fmt::format("matrix{}", step), wide, smaller, [&](const Indices& i) {
      const Expr pivot_at = pivot_row(i), &y = i[batch.size()], column = i.back() + 1;
      const Expr row = loops::select(tensor::equal(y + 1, pivot_at), zero, y + 1);
      const Expr head = at(matrix, i, pivot_at, zero);
      const Expr factor = loops::select(tensor::equal(head, tensor::like(0, head)), tensor::like(0, head),
                                        tensor::divide(at(matrix, i, row, zero), head));
      return at(matrix, i, row, column) - factor * at(matrix, i, pivot_at, column);
    });
  }
  return program.finish({program.compute(program.block(), x.dtype, batch, [&](const Indices& i) {
    return product ? loops::cast(x.dtype, loops::load(product, i)) : loops::constant(1, x.dtype);
  })});
}

}  // namespace

std::vector<OpDef> det_ops() { return {{"Det", Category::opaque, infer_det, define_det, {}, {{{"X", kFloat}}}}}; }

}  // namespace dovetail::ops

#include "compiler/ops/axes.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/tensor/expr.h"

namespace dovetail::ops {

Result<std::size_t> normalize_axis(const Operands& operands, std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return refuse(operands, fmt::format("axis {} does not exist in a tensor of rank {}", axis, rank),
                  rank == 0 ? std::string("a scalar has no axes")
                            : fmt::format("use an axis from {} to {}", -signed_rank, signed_rank - 1));
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Result<std::size_t> axis_of(const Operands& operands, std::int64_t otherwise) {
  return normalize_axis(operands, graph::int_attribute(operands.node, "axis", otherwise),
                        operands.type(0).shape.size());
}

Result<std::vector<std::size_t>> normalize_axes(const Operands& operands, const std::vector<std::int64_t>& axes,
                                                std::size_t rank) {
  std::vector<std::size_t> positions;
  for (const std::int64_t axis : axes) {
    DOVETAIL_ASSIGN(const std::size_t position, normalize_axis(operands, axis, rank));
    if (std::find(positions.begin(), positions.end(), position) != positions.end())
      return refuse(operands, fmt::format("axis {} is given twice in [{}]", axis, join(axes)), "name each axis once");
    positions.push_back(position);
  }
  return positions;
}

std::vector<std::int64_t> integers_of(const NdArray& array) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < array.count(); ++i) values.push_back(array.as_int64(i));
  return values;
}

std::string join(const std::vector<std::int64_t>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

tensor::Indices with_index(tensor::Indices indices, std::size_t axis, loops::Expr index) {
  indices.at(axis) = std::move(index);
  return indices;
}

loops::Expr element_index(const loops::Buffer& indices, const tensor::Indices& place, std::int64_t extent) {
  const loops::Expr index = loops::cast(DType::int64, loops::load(indices, place));
  return loops::select(tensor::less(index, tensor::index(0)), index + extent, index);
}

}  // namespace dovetail::ops

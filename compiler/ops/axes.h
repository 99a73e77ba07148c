// Axis attributes: negative axes count from the end.
#pragma once

#include <vector>

#include "compiler/ops/op.h"
#include "compiler/tensor/tensor.h"

namespace dovetail::ops {

// The axis as a position in [0, rank); an error outside [-rank, rank).
Result<std::size_t> normalize_axis(const Operands& operands, std::int64_t axis, std::size_t rank);
// The attribute `axis` as an axis of the first operand; `otherwise` if the node has none.
Result<std::size_t> axis_of(const Operands& operands, std::int64_t otherwise = 0);
// Each axis once, in the given order; a repeated axis is an error.
Result<std::vector<std::size_t>> normalize_axes(const Operands& operands, const std::vector<std::int64_t>& axes,
                                                std::size_t rank);

// The values of a constant integer tensor.
std::vector<std::int64_t> integers_of(const NdArray& array);
std::string join(const std::vector<std::int64_t>& values);

// `indices` with the entry at `axis` replaced.
tensor::Indices with_index(tensor::Indices indices, std::size_t axis, loops::Expr index);
// The element of an index tensor at `place`, normalized to count from the start of an axis of this extent.
loops::Expr element_index(const loops::Buffer& indices, const tensor::Indices& place, std::int64_t extent);

}  // namespace dovetail::ops

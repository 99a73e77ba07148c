// Rules that relate the shapes of inputs: multidirectional broadcasting (ONNX, as in numpy: shapes are aligned at the
// last axis, an extent of 1 is repeated), and one element per channel.
#pragma once

#include <vector>

#include "compiler/ops/op.h"
#include "compiler/tensor/tensor.h"

namespace dovetail::ops {

// The common shape of the inputs at these positions.
Result<Shape> broadcast_inputs(const Operands& operands, const std::vector<std::size_t>& positions);
// The common shape of all inputs of the node.
Result<Shape> broadcast_inputs(const Operands& operands);
// An error unless `from` broadcasts to `to` without changing it (unidirectional).
Result<void> require_broadcastable(const Operands& operands, std::size_t position, const Shape& to);

// An error unless the input, if present, has shape [channels].
Result<void> require_per_channel(const Operands& operands, std::size_t position, std::string_view what,
                                 std::int64_t channels);

// The element of `buffer` at `indices` of the broadcast shape.
loops::Expr load_broadcast(const loops::Buffer& buffer, const tensor::Indices& indices);

}  // namespace dovetail::ops

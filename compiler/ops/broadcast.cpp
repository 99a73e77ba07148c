#include "compiler/ops/broadcast.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace dovetail::ops {
namespace {

// Widens `shape` so that `other` also broadcasts to it; false if two extents differ and neither is 1.
bool widen(Shape& shape, const Shape& other) {
  if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
  for (std::size_t i = 1; i <= other.size(); ++i) {
    std::int64_t& extent = shape[shape.size() - i];
    const std::int64_t theirs = other[other.size() - i];
    if (extent == 1) {
      extent = theirs;
    } else if (theirs != 1 && theirs != extent) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<Shape> broadcast_inputs(const Operands& operands, const std::vector<std::size_t>& positions) {
  Shape shape;
  for (const std::size_t i : positions) {
    const Shape before = shape;
    if (!widen(shape, operands.type(i).shape))
      return refuse(operands,
                    fmt::format("input {} of shape {} does not broadcast with {}", i, to_string(operands.type(i).shape),
                                to_string(before)),
                    "extents, aligned at the last axis, must be equal or 1; insert a Reshape or an Unsqueeze");
  }
  return shape;
}

Result<Shape> broadcast_inputs(const Operands& operands) {
  std::vector<std::size_t> positions(operands.count());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return broadcast_inputs(operands, positions);
}

Result<void> require_broadcastable(const Operands& operands, std::size_t position, const Shape& to) {
  Shape widened = to;
  const Shape& from = operands.type(position).shape;
  if (widen(widened, from) && widened == to) return {};
  return refuse(operands,
                fmt::format("input {} of shape {} does not broadcast to {}", position, to_string(from), to_string(to)),
                "its extents, aligned at the last axis, must be 1 or equal to the target's");
}

Result<void> require_per_channel(const Operands& operands, std::size_t position, std::string_view what,
                                 std::int64_t channels) {
  if (!operands.has(position) || operands.type(position).shape == Shape{channels}) return {};
  return refuse(operands,
                fmt::format("{} has shape {}, expected [{}]", what, to_string(operands.type(position).shape), channels),
                "give one element per output channel");
}

loops::Expr load_broadcast(const loops::Buffer& buffer, const tensor::Indices& indices) {
  const std::size_t rank = buffer->shape.size();
  DOVETAIL_CHECK(rank <= indices.size(),
                 fmt::format("{} of rank {} in a shape of rank {}", buffer->name, rank, indices.size()));
  tensor::Indices own(indices.end() - static_cast<std::ptrdiff_t>(rank), indices.end());
  for (std::size_t i = 0; i < rank; ++i)
    if (buffer->shape[i] == 1) own[i] = loops::int_imm(0);
  return loops::load(buffer, std::move(own));
}

}  // namespace dovetail::ops

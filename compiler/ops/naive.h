// A builder of an operator's naive loop program: parameters "in<i>" and "out<i>", block and axis names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/tensor/tensor.h"

namespace dovetail::ops {

using tensor::Axes;
using tensor::Axis;
using tensor::Indices;

// Declares the node's inputs; the operator then computes its blocks and finishes with its output buffers.
class Naive : public tensor::Definition {
 public:
  explicit Naive(const Operands& operands);

  // Precondition: the input is present and not a compile-time input.
  const loops::Buffer& in(std::size_t position) const;
  // Element of a scalar input: an immediate if the input is constant, so that back ends see the number, else a load.
  loops::Expr scalar(std::size_t position) const;
  // The block name for an operator of one block: "LeakyRelu" -> "leaky_relu", "dovetail.qconv" -> "qconv".
  const std::string& block() const { return block_; }
  // One block that computes output 0 elementwise in its own index space.
  loops::Program map(const std::function<loops::Expr(const Indices&)>& body);
  // The program with these outputs, renamed "out0", "out1", ...
  loops::Program finish(const std::vector<loops::Buffer>& outputs) const;

 private:
  const Operands& operands_;
  std::string block_;
  std::map<std::size_t, loops::Buffer> inputs_;
};

std::string block_name(std::string_view op);

// Axes of a tensor without axis names: d0, d1, ...
Axes tensor_axes(const Shape& shape);
// Spatial axes named by their distance from the last: ..., z, y, x; prefix "k" gives the kernel's axes.
Axes spatial_axes(const Shape& extents, std::string_view prefix = "");
// n, c, then the spatial axes.
Axes image_axes(const Shape& shape);

// The type in which sums of `dtype` are accumulated: float32 for the 16-bit floats, else `dtype`.
DType accumulator(DType dtype);
// The element of a constant; float immediates are rounded to their type.
loops::Expr immediate(const NdArray& array, std::int64_t position);

}  // namespace dovetail::ops

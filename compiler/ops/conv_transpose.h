// The geometry of ConvTranspose: element i of the input adds its products to elements i * stride + k * dilation −
// pad_begin of the output.
#pragma once

#include "compiler/ops/window.h"

namespace dovetail::ops {

// One entry per spatial axis in each list. Pads may be negative: the output then extends beyond the last product.
struct ConvTransposeShape {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0, group = 1;
  Shape input, kernel, strides, dilations, pad_begin, output;

  std::size_t rank() const { return kernel.size(); }
  std::int64_t span(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  // For the equivalent convolution of the spread input: elements before the first input element, and all elements that
  // windows cover. `front` is negative if the first window begins after the first element.
  std::int64_t front(std::size_t axis) const { return span(axis) - 1 - pad_begin[axis]; }
  std::int64_t padded(std::size_t axis) const { return output[axis] + span(axis) - 1; }
  Shape result() const;  // [n, o, spatial...]
};

// Inputs 0 and 1 are x [N, C, spatial...] and w [C, O / group, kernel...].
Result<ConvTransposeShape> conv_transpose_shape(const Operands& operands);

}  // namespace dovetail::ops

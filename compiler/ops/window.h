// Sliding windows, shared by convolutions and pools: attributes kernel_shape, strides, dilations, pads, auto_pad,
// ceil_mode, as in the ONNX operator reference (Conv, MaxPool).
#pragma once

#include "compiler/ops/naive.h"

namespace dovetail::ops {

// One entry per spatial axis everywhere. Output position p covers the elements p * stride + k * dilation - pad_begin, 0
// <= k < kernel.
struct Window {
  Shape input, kernel, strides, dilations, pad_begin, pad_end, output;

  std::size_t rank() const { return kernel.size(); }
  // Extent that the kernel spans, dilation included.
  std::int64_t span(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  // Extent of the padded input that windows cover: with strides it may end before the pads do, with ceil_mode after
  // them.
  std::int64_t touched(std::size_t axis) const { return (output[axis] - 1) * strides[axis] + span(axis); }
  bool pads_anything() const;
  // The same positions without the taps at both ends that cover only padding at every position. If padding adds
  // nothing, results are unchanged, and a kernel of 2^31 costs only the covered taps. At least one tap remains.
  Window clipped() const;
};

// The attribute rules that every windowed operator lists.
std::vector<AttributeRule> window_attributes(std::vector<AttributeRule> others);

// `kernel` is the weight's spatial shape or kernel_shape. All errors in the attributes are collected.
Result<Window> make_window(const Operands& operands, const Shape& kernel);
// Pools: an error if a window covers only padding, since it has no maximum or average.
Result<void> require_filled_windows(const Operands& operands, const Window& window);

// The input [n, c, spatial...] with explicit pads, as block "pad"; `x` itself if no window covers a pad.
loops::Buffer pad_spatial(Naive& program, const loops::Buffer& x, const Window& window, const loops::Expr& fill);

// Indices into the result of pad_spatial: the leading ones, then position * stride + tap * dilation.
Indices window_indices(const Window& window, Indices leading, std::span<const loops::Expr> positions,
                       std::span<const loops::Expr> taps);

}  // namespace dovetail::ops

// Shared by Conv and dovetail.qconv: shape rules and the accumulation block.
#pragma once

#include "compiler/ops/window.h"

namespace dovetail::ops {

struct ConvShape {
  Window window;
  std::int64_t batch, in_channels, out_channels, group;
  Shape output() const;  // [n, o, spatial...]
};

// Inputs 0 and 1 are x [N, C, spatial...] and w [O, C / group, kernel...].
Result<ConvShape> conv_shape(const Operands& operands);

// Block "conv": sum of product(x element, w element, output channel) over c, ky, kx, ...; `x` is the padded input.
loops::Buffer convolve(
    Naive& program, const loops::Buffer& x, const loops::Buffer& w, const ConvShape& shape, DType accumulator,
    const std::function<loops::Expr(const loops::Expr& x, const loops::Expr& w, const loops::Expr& channel)>& product);
// The axes of its output: n, o, ..., y, x.
Axes conv_axes(const ConvShape& shape);

}  // namespace dovetail::ops

// Values between the elements of an image: weighted sums over the neighbors of a point (GridSample, DeformConv).
#pragma once

#include "compiler/ops/naive.h"

namespace dovetail::ops {

// The element at integer coordinates, which may be outside the image: the caller applies the padding.
using ElementAt = std::function<loops::Expr(const Indices& place)>;

enum class Neighbors : std::uint8_t { linear, cubic };  // two and four along each axis

// The sum over the neighbors of `point`, one floating coordinate per axis, of their weights' product times the
// element. Cubic weights are Keys' with a = -0.75.
loops::Expr interpolated(const std::vector<loops::Expr>& point, Neighbors neighbors, const ElementAt& element);

// Keys' weights of the neighbors at distances 1 + t, t, 1 - t, 2 - t; 0 <= t < 1.
std::vector<loops::Expr> cubic_weights(const loops::Expr& t, double a);

}  // namespace dovetail::ops

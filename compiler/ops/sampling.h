// How Resize maps output positions to input coordinates, per axis (ONNX operator reference, Resize).
#pragma once

#include "compiler/ops/naive.h"

namespace dovetail::ops {

// coordinate = (position + shift) * numerator / denominator + offset, in binary64, in this order. Compile time and the
// program evaluate it identically, so that a decision made here holds at run time.
struct Sampling {
  std::int64_t input = 1, output = 1;  // extents
  double shift = 0, numerator = 1, denominator = 1, offset = 0;
  double scale = 1;  // output / input as the model gives it

  bool is_identity() const;
  double coordinate(std::int64_t position) const;
  loops::Expr coordinate(const loops::Expr& position) const;
};

// `scale` is output / input as given by the model; roi_start and roi_end apply to tf_crop_and_resize. Nothing for an
// unknown mode.
std::optional<Sampling> make_sampling(std::string_view mode, std::int64_t input, std::int64_t output, double scale,
                                      double roi_start, double roi_end);

enum class NearestMode : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
std::optional<NearestMode> nearest_mode(std::string_view name);

// Index of the nearest element, within the input. Uses integer arithmetic if that gives the same index at every
// position, which is the case for integer factors.
loops::Expr nearest_index(const Sampling& sampling, NearestMode mode, const loops::Expr& position);

}  // namespace dovetail::ops

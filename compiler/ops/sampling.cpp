#include "compiler/ops/sampling.h"

#include <algorithm>
#include <cmath>

#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;
using loops::UnaryOp;

Expr real(double value) { return loops::float_imm(value, DType::float64); }

double round_to(double coordinate, NearestMode mode) {
  switch (mode) {
    case NearestMode::round_prefer_floor: return std::ceil(coordinate - 0.5);
    case NearestMode::round_prefer_ceil: return std::floor(coordinate + 0.5);
    case NearestMode::floor: return std::floor(coordinate);
    case NearestMode::ceil: return std::ceil(coordinate);
  }
  return 0;
}

Expr round_to(const Expr& coordinate, NearestMode mode) {
  switch (mode) {
    case NearestMode::round_prefer_floor: return loops::unary(UnaryOp::ceil, coordinate - real(0.5));
    case NearestMode::round_prefer_ceil: return loops::unary(UnaryOp::floor, coordinate + real(0.5));
    case NearestMode::floor: return loops::unary(UnaryOp::floor, coordinate);
    case NearestMode::ceil: return loops::unary(UnaryOp::ceil, coordinate);
  }
  return nullptr;
}

}  // namespace

bool Sampling::is_identity() const { return input == output && shift + offset == 0 && numerator == denominator; }

double Sampling::coordinate(std::int64_t position) const {
  return (static_cast<double>(position) + shift) * numerator / denominator + offset;
}

Expr Sampling::coordinate(const Expr& position) const {
  return tensor::divide((loops::cast(DType::float64, position) + real(shift)) * real(numerator), real(denominator)) +
         real(offset);
}

std::optional<Sampling> make_sampling(std::string_view mode, std::int64_t input, std::int64_t output, double scale,
                                      double roi_start, double roi_end) {
  Sampling s{.input = input, .output = output, .scale = scale};
  const auto in = static_cast<double>(input), out = static_cast<double>(output);
  // The standard spreads corners over scale * input, from which floor() computed the integer `output`. With given
  // sizes, the two are equal except for rounding.
  const double length = std::abs(scale * in - out) < 1e-9 * out ? out : scale * in;
  if (mode == "asymmetric") {
    s.denominator = scale;
  } else if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && output > 1)) {
    s.shift = 0.5;
    s.denominator = scale;
    s.offset = -0.5;
  } else if (mode == "pytorch_half_pixel") {
    s.numerator = 0;
  } else if (mode == "half_pixel_symmetric") {
    s.shift = 0.5;
    s.denominator = scale;
    s.offset = in / 2 * (1 - out / (scale * in)) - 0.5;
  } else if (mode == "align_corners") {
    s.numerator = length != 1 ? in - 1 : 0;
    s.denominator = length != 1 ? length - 1 : 1;
  } else if (mode == "tf_crop_and_resize") {
    s.numerator = output > 1 ? (roi_end - roi_start) * (in - 1) : 0;
    s.denominator = output > 1 ? length - 1 : 1;
    s.offset = output > 1 ? roi_start * (in - 1) : 0.5 * (roi_start + roi_end) * (in - 1);
  } else {
    return std::nullopt;
  }
  return s;
}

std::optional<NearestMode> nearest_mode(std::string_view name) {
  if (name == "round_prefer_floor") return NearestMode::round_prefer_floor;
  if (name == "round_prefer_ceil") return NearestMode::round_prefer_ceil;
  if (name == "floor") return NearestMode::floor;
  if (name == "ceil") return NearestMode::ceil;
  return std::nullopt;
}

Expr nearest_index(const Sampling& s, NearestMode mode, const Expr& position) {
  // floor((a * position + b) / c) for the exact ratio, with and without the half-pixel shift.
  const std::int64_t candidates[][3] = {{s.input, 0, s.output}, {2 * s.input, s.input, 2 * s.output}};
  for (const auto& [a, b, c] : candidates) {
    const auto last = static_cast<double>(s.input - 1);
    bool agrees = true;
    for (std::int64_t p = 0; p < s.output && agrees; ++p)
      agrees = static_cast<double>((a * p + b) / c) == std::clamp(round_to(s.coordinate(p), mode), 0.0, last);
    if (!agrees) continue;
    if (c % a == 0 && b == 0) return c == a ? position : loops::floor_div(position, c / a);
    return loops::floor_div(b == 0 ? position * a : position * a + b, c);
  }
  const Expr rounded = loops::cast(DType::int64, round_to(s.coordinate(position), mode));
  return tensor::clamp(rounded, tensor::index(0), tensor::index(s.input - 1));
}

}  // namespace dovetail::ops

// The arithmetic of the integer form (docs/reference/quantization.md), independent of graphs: each function is a
// formula of that page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"

namespace dovetail::passes::qdq {

// The meaning of an int8 tensor: real = (step - zero_point) * scale. uint8 tensors are treated as int8, with the zero
// point reduced by 128.
struct Quantization {
  float scale = 1;
  int zero_point = 0;
  bool operator==(const Quantization&) const = default;
};

// Bounds of an int8 result, in steps.
struct Range {
  int min = -128, max = 127;
  bool operator==(const Range&) const = default;
  bool is_full() const { return *this == Range{}; }
};

// QuantizeLinear of one number: round_half_even(real / scale) in binary32, plus the zero point, saturated.
int quantize(float real, const Quantization& q);

// The range of QuantizeLinear(min(max(r, low), high)) given that of QuantizeLinear(r): quantizing is monotone, so
// clamping before it is clamping after it. An infinite bound does not clamp. Precondition: no NaN.
Range clamp_before(Range range, float low, float high, const Quantization& q);

// binary32(binary64(sx) * sw / sy).
float requantization_scale(float x, float w, float y);

// round_half_even(real / (sx * sw)) in binary64.
double bias_steps(double real, float x, float w);

// Whether `bias` is sx * sw up to the rounding of an exporter that stored the product as binary32, or multiplied
// rounded factors.
bool is_product_scale(float bias, float x, float w);

// The largest |x - zero_point| of an int8 x.
std::int64_t largest_centered(int zero_point);

// The numbers of dovetail.qadd, a sum of two tensors with different scales.
struct Addition {
  double a_multiplier, b_multiplier, scale;
};
// Integer multipliers are in ±127, so that an int8 weight holds one.
inline constexpr int kMostFactor = 127;
// The least integer multipliers in the ratio of the scales, with scale binary32(sa / (a_multiplier * sy)), if no sum
// differs from the real one by more than 2^-12 step. Otherwise multipliers binary32(s_i / sy * 2^k) with scale 2^-k: k
// is 16, or the largest smaller number for which the sum fits int32. nullopt where even k = 0 is too large, or a number
// is not normal.
std::optional<Addition> addition(const Quantization& a, const Quantization& b, float y, bool subtract);
// The numbers for a sum of `x` and zeros, which changes the scale to `y`. nullopt if the scale is not a normal number.
std::optional<Addition> rescaling(float x, float y);

// The numbers of dovetail.qsoftmax over `extent` elements with x of scale `x`. The table has 65535 * exp(-d * x) for
// each difference d from the maximum; the sum is scaled to less than 2^28, whose reciprocal binary64 rounds correctly.
struct Softmax {
  std::vector<std::uint16_t> table;
  double scale;
  int shift;
};
// nullopt if y's scale is so large that the sum exceeds 2^28 without a shift, or so small that even the largest term is
// below 1 with the largest shift.
std::optional<Softmax> softmax(std::int64_t extent, float x, float y);

// The numbers of dovetail.qnormalize over rows of `extent` elements; `gamma` and `beta` have one value or as many as
// there are products and sums.
struct Normalization {
  std::int64_t parts, epsilon;
  int bits, shift;
  std::vector<float> scale;
  std::vector<std::int32_t> bias;
};
// nullopt if a row, epsilon, or the results are too large for int32.
std::optional<Normalization> normalization(std::int64_t extent, double epsilon, std::span<const double> gamma,
                                           std::span<const double> beta, float x, float y);

}  // namespace dovetail::passes::qdq

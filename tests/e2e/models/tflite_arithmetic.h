// The integer arithmetic of TFLite's reference kernels (tensorflow/lite/kernels/internal, gemmlowp's fixed-point
// rounding), written from its definition: a multiplication by a 31-bit fraction that rounds, then a shift that rounds
// again. It differs from the integer form, which rounds once, only next to ties. TFLite can also be built to round
// once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dovetail::test::tflite {

// A real number as fraction * 2^(shift - 31), the fraction in [2^30, 2^31).
struct Multiplier {
  std::int32_t fraction = 0;
  int shift = 0;

  explicit Multiplier(double real) {
    if (real == 0) return;
    auto fixed =
        static_cast<std::int64_t>(std::round(std::frexp(real, &shift) * static_cast<double>(std::int64_t{1} << 31)));
    if (fixed == std::int64_t{1} << 31) fixed /= 2, ++shift;
    if (shift < -31) fixed = 0, shift = 0;
    fraction = static_cast<std::int32_t>(fixed);
  }
};

// a * b / 2^31, rounded; halves go up.
inline std::int32_t doubling_high_product(std::int32_t a, std::int32_t b) {
  if (a == b && a == std::numeric_limits<std::int32_t>::min()) return std::numeric_limits<std::int32_t>::max();
  const std::int64_t product = static_cast<std::int64_t>(a) * b,
                     nudge = product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30);
  return static_cast<std::int32_t>((product + nudge) / (std::int64_t{1} << 31));
}

// x / 2^exponent, halves away from zero.
inline std::int32_t rounding_shift(std::int32_t x, int exponent) {
  const std::int32_t mask = static_cast<std::int32_t>((std::int64_t{1} << exponent) - 1), rest = x & mask,
                     threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (rest > threshold ? 1 : 0);
}

inline std::int32_t multiply(std::int32_t x, const Multiplier& by) {
  const int left = std::max(by.shift, 0), right = std::max(-by.shift, 0);
  return rounding_shift(
      doubling_high_product(static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << left), by.fraction), right);
}

// The same in a build with TFLITE_SINGLE_ROUNDING: one rounding, halves up.
inline std::int32_t multiply_once(std::int32_t x, const Multiplier& by) {
  const int shift = 31 - by.shift;
  return static_cast<std::int32_t>((static_cast<std::int64_t>(x) * by.fraction + (std::int64_t{1} << (shift - 1))) >>
                                   shift);
}

// Sum of two tensors: centered steps are shifted left by 20, scaled to twice the larger scale, added, and scaled to the
// output. The scales are in units of the output's.
class Sum {
 public:
  Sum(double a_scale, double b_scale)
      : twice_(2 * std::max(std::abs(a_scale), std::abs(b_scale))),
        a_(std::abs(a_scale) / twice_),
        b_(std::abs(b_scale) / twice_),
        y_(twice_ / (1 << kShift)),
        a_sign_(a_scale < 0 ? -1 : 1),
        b_sign_(b_scale < 0 ? -1 : 1) {}
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return multiply(a_sign_ * multiply(a * (1 << kShift), a_) + b_sign_ * multiply(b * (1 << kShift), b_), y_);
  }

 private:
  static constexpr int kShift = 20;
  double twice_;
  Multiplier a_, b_, y_;
  int a_sign_, b_sign_;
};

// The mean of n steps, halves away from zero; scale and zero point stay.
inline std::int32_t mean(std::int32_t sum, std::int32_t n) { return sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n; }

}  // namespace dovetail::test::tflite

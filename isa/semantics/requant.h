// AluOp::requant: acc = clamp_int32(round_half_even((acc + bias) * s) + zero_point), exact, rounded
// once.
//
// s is read from a binary32's bits as +-m * 2^(e - 150), m = 2^23 + fraction, for every exponent e except 0, for which
// m = 0: there are no infinities, no NaNs, and subnormals are 0. So |acc + bias| * m < 2^31 * 2^24 = 2^55 is exact in
// 64 bits, and then shifted by e - 150, which is -149 to 105 places.
#pragma once

#include <cstdint>

#include "isa/semantics/wrap.h"

namespace dovetail::isa::semantics {

// Selections instead of branches or references to temporaries, so that loops over lanes vectorize.
constexpr std::int32_t requant(std::int32_t acc, std::int32_t bias, std::uint32_t scale_bits, std::int32_t zero_point) {
  const std::uint32_t sum = bits(acc) + bits(bias);
  const std::uint32_t sum_sign = sum >> 31;
  const std::uint32_t sum_magnitude = sum_sign != 0 ? 0u - sum : sum;  // 2^31 for the most negative sum
  const std::uint32_t exponent = (scale_bits >> 23) & 0xff;
  const std::uint32_t mantissa = exponent == 0 ? 0 : (scale_bits & 0x7fffff) | 0x800000;
  const std::uint64_t product = std::uint64_t{sum_magnitude} * mantissa;

  // Beyond 63 places none of the 55 bits is left. Half to even is symmetric, so rounding the magnitude rounds the
  // value.
  const std::uint32_t right = exponent >= 150 ? 0 : exponent <= 87 ? 63 : 150 - exponent;
  const std::uint64_t with_guard = 2 * product >> right;  // one place more than is kept
  const std::uint64_t sticky = with_guard << right != 2 * product ? 1 : 0;
  const std::uint64_t floor = with_guard >> 1;
  const std::uint64_t rounded = floor + (with_guard & (sticky | floor) & 1);

  // A value of 2^33 or more saturates with any zero point. A nonzero product is at least 2^23, so a left shift by 16
  // places already saturates, and larger shifts are capped.
  constexpr std::uint64_t kSaturates = std::uint64_t{1} << 33;
  const std::uint32_t left = exponent <= 150 ? 0 : exponent >= 166 ? 16 : exponent - 150;
  const std::uint64_t magnitude = (rounded < kSaturates ? rounded : kSaturates) << left;

  const bool negative = (sum_sign ^ (scale_bits >> 31)) != 0;
  const std::int64_t value = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
  const std::int64_t shifted = value + zero_point;
  return static_cast<std::int32_t>(shifted < INT32_MIN ? INT32_MIN : shifted > INT32_MAX ? INT32_MAX : shifted);
}

}  // namespace dovetail::isa::semantics

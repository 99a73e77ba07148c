// The extension norm: sums and maxima over the lanes of a batch row, squares, and the reciprocal of a number or of its
// square root as the bits of a binary32, a scale for REQUANT. With these a softmax or a normalization runs on the ALU.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "isa/semantics/wrap.h"

namespace dovetail::isa::semantics {

// A batch row of acc[dst]: the result of every lane. Precondition: there are lanes.
constexpr std::int32_t row_maximum(std::span<const std::int32_t> row) { return *std::ranges::max_element(row); }
constexpr std::int32_t row_sum(std::span<const std::int32_t> row) {
  std::int32_t sum = 0;
  for (const std::int32_t lane : row) sum = wrapping_add(sum, lane);
  return sum;
}

constexpr std::int32_t square_add(std::int32_t acc, std::int32_t value) {
  return wrapping_add(acc, wrapping_mul(value, value));
}

// The bits of 2^exponent / x, rounded to 24 bits; 0 for x = 0. Rounding has no ties: the quotient of a power of two is
// a power of two or has infinitely many bits. REQUANT reads exponents of 1 to 255: below them the result is 0, beyond
// them the largest scale.
constexpr std::uint32_t reciprocal(std::uint32_t x, std::int32_t exponent) {
  if (x == 0) return 0;
  constexpr std::int64_t kOne = std::int64_t{1} << 23;  // in the exponent's place
  const int zeros = std::countl_zero(x);
  // The quotient is in [2^24, 2^25). The dividend is 2^56 - 1, so that the quotient of 2^31 has 25 bits like the
  // others; it rounds up to a power of two all the same.
  const std::uint64_t quotient = ((std::uint64_t{1} << 56) - 1) / (std::uint64_t{x} << zeros);
  // A mantissa begins with 2^23, and thus adds 1 to the exponent, or 2 where rounding made it 2^24.
  const std::int64_t bits =
      (std::int64_t{exponent} + zeros + 94) * kOne + static_cast<std::int64_t>((quotient + 1) / 2);
  return bits < kOne ? 0 : static_cast<std::uint32_t>(std::min<std::int64_t>(bits, INT32_MAX));
}

// floor(sqrt(x * 2^24)), 28 bits.
constexpr std::uint32_t root(std::uint32_t x) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 27; bit != 0; bit >>= 1)
    if ((root | bit) * (root | bit) <= std::uint64_t{x} << 24) root |= bit;
  return static_cast<std::uint32_t>(root);
}

// The bits of 2^exponent / (root(x) * 2^-12), as above.
constexpr std::uint32_t root_reciprocal(std::uint32_t x, std::int32_t exponent) {
  return reciprocal(root(x), exponent + 12);
}

}  // namespace dovetail::isa::semantics

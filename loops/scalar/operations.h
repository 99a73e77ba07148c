// The operations on one value as docs/reference/loop-programs.md defines them, under their names in loops/ir.h. The
// interpreter applies them, and the code that the CUDA back end compiles for a device calls them: this is the
// definition for both.
//
// That text is compiled by NVRTC, which has no standard library: this header and those that it includes use only the
// parts that compiler/target/cuda/codegen/standard_headers.cpp provides.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "loops/scalar/element.h"

namespace dovetail::loops::scalar {

// ---- Two operands: integers wrap in their type

template <typename T>
T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  else return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
}

template <typename T>
T sub(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a - b;
  else return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) - static_cast<std::make_unsigned_t<T>>(b));
}

template <typename T>
T mul(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<T>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
  } else {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
  }
}

// Integers: precondition b != 0. The least integer divided by -1 wraps.
template <typename T>
T div(T a, T b) {
  if constexpr (!std::is_floating_point_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
    }
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
}

template <typename T>
T mod(T a, T b) {
  if constexpr (!std::is_floating_point_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
    }
    return static_cast<T>(a % b);
  } else {
    return std::fmod(a, b);
  }
}

template <typename T>
T floor_div(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::floor(a / b);
  } else {
    const T rest = mod(a, b);
    return static_cast<T>(div(a, b) - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0));
  }
}

template <typename T>
T floor_mod(T a, T b) {
  const T rest = mod(a, b);
  if constexpr (std::is_floating_point_v<T>) return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  else return static_cast<T>(rest + (rest != 0 && (rest < 0) != (b < 0) ? b : T(0)));
}

// NaN if an operand is NaN.
template <typename T>
T min(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return b < a || b != b ? b : a;
  else return b < a ? b : a;
}

template <typename T>
T max(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || b != b ? b : a;
  else return a < b ? b : a;
}

// Integers: precondition: not zero to a negative power.
template <typename T>
T pow(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(a, b);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b < 0) return a == 1 ? T(1) : a == T(-1) ? static_cast<T>(b % 2 == 0 ? 1 : -1) : T(0);
    }
    using U = std::make_unsigned_t<T>;
    std::uint64_t result = 1, factor = static_cast<U>(a);
    for (U left = static_cast<U>(b); left != 0; left = static_cast<U>(left >> 1), factor *= factor)
      if ((left & 1) != 0) result *= factor;
    return static_cast<T>(result);
  }
}

template <typename T>
T shl(T a, T b) {
  return b < 0 || b >= T(sizeof(T) * 8) ? T(0) : static_cast<T>(static_cast<std::uint64_t>(a) << b);
}

template <typename T>
T shr(T a, T b) {
  return b < 0 || b >= T(sizeof(T) * 8) ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
}

// ---- One operand

template <typename T>
T neg(T a) {
  if constexpr (std::is_floating_point_v<T>) return -a;
  else return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(a));
}

template <typename T>
T abs(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
  else return a < 0 ? neg(a) : a;
}

template <typename T>
T sign(T a) {
  if constexpr (std::is_floating_point_v<T>) return a > 0 ? T(1) : a < 0 ? T(-1) : a;  // keeps zeros and NaN
  else return static_cast<T>((a > 0 ? 1 : 0) - (a < 0 ? 1 : 0));
}

template <typename T>
bool is_nan(T a) {
  return a != a;
}
template <typename T>
bool is_inf(T a) {
  return a == a && !(a - a == a - a);
}

// clang-format off
template <typename T> T floor(T a) { return std::floor(a); }
template <typename T> T ceil(T a) { return std::ceil(a); }
template <typename T> T round_even(T a) { return std::nearbyint(a); }
template <typename T> T trunc(T a) { return std::trunc(a); }
template <typename T> T sqrt(T a) { return std::sqrt(a); }
template <typename T> T rsqrt(T a) { return T(1) / std::sqrt(a); }
template <typename T> T exp(T a) { return std::exp(a); }
template <typename T> T log(T a) { return std::log(a); }
template <typename T> T sin(T a) { return std::sin(a); }
template <typename T> T cos(T a) { return std::cos(a); }
template <typename T> T tan(T a) { return std::tan(a); }
template <typename T> T asin(T a) { return std::asin(a); }
template <typename T> T acos(T a) { return std::acos(a); }
template <typename T> T atan(T a) { return std::atan(a); }
template <typename T> T sinh(T a) { return std::sinh(a); }
template <typename T> T cosh(T a) { return std::cosh(a); }
template <typename T> T asinh(T a) { return std::asinh(a); }
template <typename T> T acosh(T a) { return std::acosh(a); }
template <typename T> T atanh(T a) { return std::atanh(a); }
template <typename T> T tanh(T a) { return std::tanh(a); }
template <typename T> T erf(T a) { return std::erf(a); }
// clang-format on

// a * b + c, rounded once: only for sums of products (loops/product_sum.h).
template <typename T>
T fma(T a, T b, T c) {
  return std::fma(a, b, c);
}

// ---- Conversions: float to integer truncates and saturates, NaN becomes 0; integers wrap; any nonzero value is true
// (NaN included)

template <typename From, typename To>
typename To::Reg convert(typename From::Reg a) {
  using A = typename From::Reg;
  using T = typename To::Reg;
  if constexpr (is_bool_element<To>) {
    return a != 0;
  } else if constexpr (is_float_element<From> && !is_float_element<To>) {
    constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    if (a != a) return 0;
    if (a <= static_cast<A>(kLow)) return kLow;
    if (a >= static_cast<A>(kHigh)) return kHigh;  // the bound may round up to 2^n: everything below it fits
    return static_cast<T>(a);
  } else if constexpr (!is_float_element<From> && is_float_element<To>) {
    if constexpr (std::is_same_v<To, Float16> || std::is_same_v<To, BFloat16>) return To::round(integer_to_odd(a));
    else return static_cast<T>(a);
  } else {
    return To::round(a);
  }
}

// Precondition: both types have the same size.
template <typename From, typename To>
typename To::Reg bitcast(typename From::Reg a) {
  return To::read(__builtin_bit_cast(typename To::Mem, From::write(a)));
}

// ---- requantize: clamp_int32(round_half_even(acc * scale) + zero_point), the product exact, one rounding

// scale is +-m * 2^(e-150) with m < 2^24, read off its bits: no infinities or NaN, subnormals are 0. The product of acc
// and m has at most 55 bits.
inline std::int32_t requantize(std::int32_t acc, float scale, std::int32_t zero_point) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, scale);
  const int exponent = static_cast<int>(bits >> 23 & 0xff), right = 150 - exponent;
  const std::int64_t m = exponent == 0 ? 0 : (std::int64_t{1} << 23) + (bits & 0x7fffff);
  const std::int64_t product = std::int64_t{acc} * ((bits >> 31) != 0 ? -m : m);
  constexpr std::int64_t kFar = std::int64_t{1} << 60;  // beyond int32 for any zero point
  constexpr int kProductBits = 55;
  std::int64_t scaled = 0;
  if (right > kProductBits) {
    scaled = 0;  // below one half
  } else if (right > 0) {
    const std::int64_t down = product >> right, rest = product - down * (std::int64_t{1} << right);
    const std::int64_t half = std::int64_t{1} << (right - 1);
    scaled = down + (rest > half || (rest == half && (down & 1) != 0) ? 1 : 0);
  } else if (product != 0) {
    // A nonzero product is at least 2^23: 2^9 times that is beyond int32 for any zero point.
    scaled = -right >= 9 ? (product < 0 ? -kFar : kFar) : product * (std::int64_t{1} << -right);
  }
  const std::int64_t result = scaled + zero_point;
  constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min(),
                         kHigh = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(result < kLow ? kLow : result > kHigh ? kHigh : result);
}

}  // namespace dovetail::loops::scalar

// The C++ representation of each element type: in registers, in memory, and how a result is rounded to it. Written in
// the subset of C++ that device compilers accept too (loops/scalar/operations.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/float16_bits.h"

namespace dovetail::loops {

template <typename T>
struct Plain {
  using Reg = T;
  using Mem = T;
  static T read(T value) { return value; }
  static T write(T value) { return value; }
  template <typename V>
  static T round(V value) {
    return static_cast<T>(value);
  }
};
struct Bool : Plain<std::uint8_t> {};

// Conversion to binary32 rounding to odd: rounding the result once more, to fewer than 23 bits, then equals rounding
// once.
inline float round_to_odd(double value) {
  const float result = static_cast<float>(value);
  if (!(std::fabs(result) <= 0x1.fffffep127f) || static_cast<double>(result) == value) return result;
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, result);
  if ((bits & 1) != 0) return result;
  const bool away = result > 0   ? static_cast<double>(result) > value
                    : result < 0 ? static_cast<double>(result) < value
                                 : false;
  return __builtin_bit_cast(float, away ? bits - 1 : bits + 1);
}
// The same for an integer: if bits are lost, the last remaining bit is set.
template <typename T>
float integer_to_odd(T value) {
  const bool negative = value < 0;
  std::uint64_t magnitude = static_cast<std::uint64_t>(value);
  if (negative) magnitude = std::uint64_t{0} - magnitude;
  float unit = 1;
  for (; (magnitude >> 24) != 0; unit *= 2) magnitude = magnitude >> 1 | (magnitude & 1);
  const float result = static_cast<float>(magnitude) * unit;
  return negative ? -result : result;
}

// Computed in binary32, which is wide enough that the second rounding of + - * / and sqrt has no effect.
template <float (*from_bits)(std::uint16_t), std::uint16_t (*to_bits)(float),
          std::uint32_t (*two_to_bits)(float, float)>
struct HalfFloat {
  using Reg = float;
  using Mem = std::uint16_t;
  static float read(std::uint16_t bits) { return from_bits(bits); }
  static std::uint16_t write(float value) { return to_bits(value); }
  // Precondition: neither is a NaN. The second is in the upper half.
  static std::uint32_t write_two(float low, float high) { return two_to_bits(low, high); }
  static float round(float value) { return read(write(value)); }
  static float round(double value) { return round(round_to_odd(value)); }
};
using Float16 = HalfFloat<float16_bits::from_float16, float16_bits::to_float16, float16_bits::to_two_float16>;
using BFloat16 = HalfFloat<float16_bits::from_bfloat16, float16_bits::to_bfloat16, float16_bits::to_two_bfloat16>;

template <typename E>
inline constexpr bool is_half_element = std::is_same_v<E, Float16> || std::is_same_v<E, BFloat16>;
template <typename E>
inline constexpr bool is_float_element = std::is_floating_point_v<typename E::Reg>;
template <typename E>
inline constexpr bool is_bool_element = std::is_same_v<E, Bool>;
template <typename E>
inline constexpr bool is_integer_element = !is_float_element<E> && !is_bool_element<E>;

}  // namespace dovetail::loops

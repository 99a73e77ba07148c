// The C++ side of each element type: how registers hold it, how memory does, and how a result is rounded to it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "base/ndarray.h"

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
template <typename V>
inline float round_to_odd(V value) {
  float result = static_cast<float>(value);
  if (!std::isfinite(result) || static_cast<V>(result) == value) return result;
  auto bits = std::bit_cast<std::uint32_t>(result);
  if ((bits & 1) != 0) return result;
  const bool away = result > 0 ? static_cast<V>(result) > value : static_cast<V>(result) < value;
  return std::bit_cast<float>(away ? bits - 1 : bits + 1);
}

// float16 and bfloat16 are computed in binary32, which is wide enough that the second rounding of + - * / and sqrt
// changes nothing.
struct Float16 {
  using Reg = float;
  using Mem = std::uint16_t;
  static float read(std::uint16_t bits) { return float16_to_float(bits); }
  static std::uint16_t write(float value) { return float_to_float16(value); }
  static float round(float value) { return read(write(value)); }
  static float round(double value) { return round(round_to_odd(value)); }
  static float round(long double value) { return round(round_to_odd(value)); }
};
struct BFloat16 {
  using Reg = float;
  using Mem = std::uint16_t;
  static float read(std::uint16_t bits) { return bfloat16_to_float(bits); }
  static std::uint16_t write(float value) { return float_to_bfloat16(value); }
  static float round(float value) { return read(write(value)); }
  static float round(double value) { return round(round_to_odd(value)); }
  static float round(long double value) { return round(round_to_odd(value)); }
};

template <typename E>
inline constexpr bool is_float_element = std::is_floating_point_v<typename E::Reg>;
template <typename E>
inline constexpr bool is_bool_element = std::is_same_v<E, Bool>;
template <typename E>
inline constexpr bool is_integer_element = !is_float_element<E> && !is_bool_element<E>;

// Calls f.template operator()<Element>() for the element of the type.
template <typename F>
auto with_element(DType dtype, const F& f) {
  switch (dtype) {
    case DType::int8: return f.template operator()<Plain<std::int8_t>>();
    case DType::uint8: return f.template operator()<Plain<std::uint8_t>>();
    case DType::int16: return f.template operator()<Plain<std::int16_t>>();
    case DType::uint16: return f.template operator()<Plain<std::uint16_t>>();
    case DType::int32: return f.template operator()<Plain<std::int32_t>>();
    case DType::uint32: return f.template operator()<Plain<std::uint32_t>>();
    case DType::int64: return f.template operator()<Plain<std::int64_t>>();
    case DType::uint64: return f.template operator()<Plain<std::uint64_t>>();
    case DType::float16: return f.template operator()<Float16>();
    case DType::bfloat16: return f.template operator()<BFloat16>();
    case DType::float32: return f.template operator()<Plain<float>>();
    case DType::float64: return f.template operator()<Plain<double>>();
    case DType::boolean: break;
  }
  return f.template operator()<Bool>();
}

}  // namespace dovetail::loops

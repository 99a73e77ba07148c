// The operations on one value, as docs/loop-programs.md states them: what the lane kernels apply.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "loops/interpreter/element.h"
#include "loops/ir.h"

namespace dovetail::loops {

template <typename E>
constexpr bool defined_on(BinaryOp op) {
  switch (op) {
    case BinaryOp::shl:
    case BinaryOp::shr: return is_integer_element<E>;
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor: return !is_float_element<E>;
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: return is_bool_element<E>;
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge: return true;
    default: return !is_bool_element<E>;
  }
}

// The operation can divide an integer by zero.
template <typename E, BinaryOp op>
inline constexpr bool divides = is_integer_element<E> &&
                                (op == BinaryOp::div || op == BinaryOp::mod || op == BinaryOp::floor_div ||
                                 op == BinaryOp::floor_mod || op == BinaryOp::pow);

template <typename T>
T integer_power(T base, T exponent) {  // precondition: not zero to a negative power
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? T{1} : base == T{-1} ? static_cast<T>(exponent % 2 == 0 ? 1 : -1) : T{0};
  }
  using U = std::make_unsigned_t<T>;
  std::uint64_t result = 1, factor = static_cast<U>(base);
  for (U left = static_cast<U>(exponent); left != 0; left = static_cast<U>(left >> 1), factor *= factor)
    if ((left & 1) != 0) result *= factor;
  return static_cast<T>(result);
}

template <typename T, BinaryOp op>
T integer_op(T a, T b) {
  using U = std::uint64_t;  // wraps at 64 bits, then in T
  constexpr int kBits = static_cast<int>(sizeof(T)) * 8;
  if constexpr (op == BinaryOp::add)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  if constexpr (op == BinaryOp::sub)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) - static_cast<std::make_unsigned_t<T>>(b));
  if constexpr (op == BinaryOp::mul) {
    using Product = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(static_cast<Product>(a) * static_cast<Product>(b));
  }
  if constexpr (op == BinaryOp::div || op == BinaryOp::mod || op == BinaryOp::floor_div || op == BinaryOp::floor_mod) {
    constexpr bool quotient = op == BinaryOp::div || op == BinaryOp::floor_div;
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1})
        return quotient ? static_cast<T>(U{0} - static_cast<U>(a)) : T{0};  // the least integer over -1 wraps
    }
    const T q = static_cast<T>(a / b);
    const T r = static_cast<T>(a % b);
    constexpr bool floors = op == BinaryOp::floor_div || op == BinaryOp::floor_mod;
    const bool adjust = floors && r != 0 && (r < 0) != (b < 0);
    return quotient ? static_cast<T>(q - (adjust ? 1 : 0)) : static_cast<T>(r + (adjust ? b : T{0}));
  }
  if constexpr (op == BinaryOp::min) return b < a ? b : a;
  if constexpr (op == BinaryOp::max) return a < b ? b : a;
  if constexpr (op == BinaryOp::pow) return integer_power(a, b);
  if constexpr (op == BinaryOp::shl) return b < 0 || b >= T{kBits} ? T{0} : static_cast<T>(static_cast<U>(a) << b);
  if constexpr (op == BinaryOp::shr)
    return b < 0 || b >= T{kBits} ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
  if constexpr (op == BinaryOp::bit_and) return static_cast<T>(a & b);
  if constexpr (op == BinaryOp::bit_or) return static_cast<T>(a | b);
  if constexpr (op == BinaryOp::bit_xor) return static_cast<T>(a ^ b);
  if constexpr (op == BinaryOp::logical_and) return a && b;
  if constexpr (op == BinaryOp::logical_or) return a || b;
}

// min and max return NaN where an operand is NaN.
template <typename T, BinaryOp op>
T float_op(T a, T b) {
  if constexpr (op == BinaryOp::add) return a + b;
  if constexpr (op == BinaryOp::sub) return a - b;
  if constexpr (op == BinaryOp::mul) return a * b;
  if constexpr (op == BinaryOp::div) return a / b;
  if constexpr (op == BinaryOp::mod) return std::fmod(a, b);
  if constexpr (op == BinaryOp::floor_div) return std::floor(a / b);
  if constexpr (op == BinaryOp::floor_mod) {
    const T r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  if constexpr (op == BinaryOp::min) return b < a || b != b ? b : a;
  if constexpr (op == BinaryOp::max) return a < b || b != b ? b : a;
  if constexpr (op == BinaryOp::pow) return std::pow(a, b);
}

template <typename E, BinaryOp op>
auto scalar_op(typename E::Reg a, typename E::Reg b) {
  if constexpr (op == BinaryOp::eq) return static_cast<std::uint8_t>(a == b);
  else if constexpr (op == BinaryOp::ne) return static_cast<std::uint8_t>(a != b);
  else if constexpr (op == BinaryOp::lt) return static_cast<std::uint8_t>(a < b);
  else if constexpr (op == BinaryOp::le) return static_cast<std::uint8_t>(a <= b);
  else if constexpr (op == BinaryOp::gt) return static_cast<std::uint8_t>(a > b);
  else if constexpr (op == BinaryOp::ge) return static_cast<std::uint8_t>(a >= b);
  else if constexpr (is_float_element<E>) return E::round(float_op<typename E::Reg, op>(a, b));
  else return integer_op<typename E::Reg, op>(a, b);
}

template <UnaryOp op, typename T>
T float_function(T a) {
  if constexpr (op == UnaryOp::neg) return -a;
  if constexpr (op == UnaryOp::abs) return std::fabs(a);
  if constexpr (op == UnaryOp::sign) return a > 0 ? T{1} : a < 0 ? T{-1} : a;  // keeps zeros and NaN
  if constexpr (op == UnaryOp::floor) return std::floor(a);
  if constexpr (op == UnaryOp::ceil) return std::ceil(a);
  if constexpr (op == UnaryOp::round_even) return std::nearbyint(a);
  if constexpr (op == UnaryOp::trunc) return std::trunc(a);
  if constexpr (op == UnaryOp::sqrt) return std::sqrt(a);
  if constexpr (op == UnaryOp::rsqrt) return T{1} / std::sqrt(a);
  if constexpr (op == UnaryOp::exp) return std::exp(a);
  if constexpr (op == UnaryOp::log) return std::log(a);
  if constexpr (op == UnaryOp::sin) return std::sin(a);
  if constexpr (op == UnaryOp::cos) return std::cos(a);
  if constexpr (op == UnaryOp::tan) return std::tan(a);
  if constexpr (op == UnaryOp::asin) return std::asin(a);
  if constexpr (op == UnaryOp::acos) return std::acos(a);
  if constexpr (op == UnaryOp::atan) return std::atan(a);
  if constexpr (op == UnaryOp::sinh) return std::sinh(a);
  if constexpr (op == UnaryOp::cosh) return std::cosh(a);
  if constexpr (op == UnaryOp::asinh) return std::asinh(a);
  if constexpr (op == UnaryOp::acosh) return std::acosh(a);
  if constexpr (op == UnaryOp::atanh) return std::atanh(a);
  if constexpr (op == UnaryOp::tanh) return std::tanh(a);
  if constexpr (op == UnaryOp::erf) return std::erf(a);
}

// Conversions. Float to integer truncates and saturates, NaN becomes 0; integers wrap; anything but zero is true (NaN
// included).
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
    if constexpr (std::is_same_v<To, Float16> || std::is_same_v<To, BFloat16>)
      return To::round(static_cast<long double>(a));
    else return static_cast<T>(a);
  } else {
    return To::round(a);
  }
}

}  // namespace dovetail::loops

// Maps the operators of expressions to the operations on one value (loops/scalar/operations.h) at compile time, for the
// lane kernels.
#pragma once

#include <cstdint>

#include "loops/interpreter/element.h"
#include "loops/ir.h"
#include "loops/scalar/operations.h"

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

// True if the operation can divide an integer by zero.
template <typename E, BinaryOp op>
inline constexpr bool divides = is_integer_element<E> &&
                                (op == BinaryOp::div || op == BinaryOp::mod || op == BinaryOp::floor_div ||
                                 op == BinaryOp::floor_mod || op == BinaryOp::pow);

template <typename T, BinaryOp op>
T binary_op(T a, T b) {
  if constexpr (op == BinaryOp::add) return scalar::add(a, b);
  if constexpr (op == BinaryOp::sub) return scalar::sub(a, b);
  if constexpr (op == BinaryOp::mul) return scalar::mul(a, b);
  if constexpr (op == BinaryOp::div) return scalar::div(a, b);
  if constexpr (op == BinaryOp::mod) return scalar::mod(a, b);
  if constexpr (op == BinaryOp::floor_div) return scalar::floor_div(a, b);
  if constexpr (op == BinaryOp::floor_mod) return scalar::floor_mod(a, b);
  if constexpr (op == BinaryOp::min) return scalar::min(a, b);
  if constexpr (op == BinaryOp::max) return scalar::max(a, b);
  if constexpr (op == BinaryOp::pow) return scalar::pow(a, b);
  if constexpr (op == BinaryOp::shl) return scalar::shl(a, b);
  if constexpr (op == BinaryOp::shr) return scalar::shr(a, b);
  if constexpr (op == BinaryOp::bit_and) return static_cast<T>(a & b);
  if constexpr (op == BinaryOp::bit_or) return static_cast<T>(a | b);
  if constexpr (op == BinaryOp::bit_xor) return static_cast<T>(a ^ b);
  if constexpr (op == BinaryOp::logical_and) return a && b;
  if constexpr (op == BinaryOp::logical_or) return a || b;
}

template <typename E, BinaryOp op>
auto scalar_op(typename E::Reg a, typename E::Reg b) {
  if constexpr (op == BinaryOp::eq) return static_cast<std::uint8_t>(a == b);
  else if constexpr (op == BinaryOp::ne) return static_cast<std::uint8_t>(a != b);
  else if constexpr (op == BinaryOp::lt) return static_cast<std::uint8_t>(a < b);
  else if constexpr (op == BinaryOp::le) return static_cast<std::uint8_t>(a <= b);
  else if constexpr (op == BinaryOp::gt) return static_cast<std::uint8_t>(a > b);
  else if constexpr (op == BinaryOp::ge) return static_cast<std::uint8_t>(a >= b);
  else return E::round(binary_op<typename E::Reg, op>(a, b));
}

template <UnaryOp op, typename T>
T unary_op(T a) {
  if constexpr (op == UnaryOp::neg) return scalar::neg(a);
  if constexpr (op == UnaryOp::abs) return scalar::abs(a);
  if constexpr (op == UnaryOp::sign) return scalar::sign(a);
  if constexpr (op == UnaryOp::floor) return scalar::floor(a);
  if constexpr (op == UnaryOp::ceil) return scalar::ceil(a);
  if constexpr (op == UnaryOp::round_even) return scalar::round_even(a);
  if constexpr (op == UnaryOp::trunc) return scalar::trunc(a);
  if constexpr (op == UnaryOp::sqrt) return scalar::sqrt(a);
  if constexpr (op == UnaryOp::rsqrt) return scalar::rsqrt(a);
  if constexpr (op == UnaryOp::exp) return scalar::exp(a);
  if constexpr (op == UnaryOp::log) return scalar::log(a);
  if constexpr (op == UnaryOp::sin) return scalar::sin(a);
  if constexpr (op == UnaryOp::cos) return scalar::cos(a);
  if constexpr (op == UnaryOp::tan) return scalar::tan(a);
  if constexpr (op == UnaryOp::asin) return scalar::asin(a);
  if constexpr (op == UnaryOp::acos) return scalar::acos(a);
  if constexpr (op == UnaryOp::atan) return scalar::atan(a);
  if constexpr (op == UnaryOp::sinh) return scalar::sinh(a);
  if constexpr (op == UnaryOp::cosh) return scalar::cosh(a);
  if constexpr (op == UnaryOp::asinh) return scalar::asinh(a);
  if constexpr (op == UnaryOp::acosh) return scalar::acosh(a);
  if constexpr (op == UnaryOp::atanh) return scalar::atanh(a);
  if constexpr (op == UnaryOp::tanh) return scalar::tanh(a);
  if constexpr (op == UnaryOp::erf) return scalar::erf(a);
  if constexpr (op == UnaryOp::bit_not) return static_cast<T>(~a);
}

}  // namespace dovetail::loops

#include "loops/threads/scalar_value.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "loops/interpreter/element.h"
#include "loops/interpreter/scalar_ops.h"

namespace dovetail::loops {

namespace {

template <typename E, UnaryOp op>
ScalarValue unary(ScalarValue value) {
  const auto a = value.as<typename E::Reg>();
  if constexpr (op == UnaryOp::is_nan) return ScalarValue::of<std::uint8_t>(scalar::is_nan(a));
  else if constexpr (op == UnaryOp::is_inf) return ScalarValue::of<std::uint8_t>(scalar::is_inf(a));
  else if constexpr (op == UnaryOp::logical_not) return ScalarValue::of<std::uint8_t>(a == 0);
  else if constexpr (op == UnaryOp::neg || op == UnaryOp::abs || op == UnaryOp::sign)
    return ScalarValue::of(E::round(unary_op<op>(a)));
  else if constexpr (is_float_element<E> && op != UnaryOp::bit_not) return ScalarValue::of(E::round(unary_op<op>(a)));
  else if constexpr (!is_float_element<E> && op == UnaryOp::bit_not) return ScalarValue::of(unary_op<op>(a));
  else return ScalarValue::of(a);  // rounding functions have no effect on integers
}

template <typename E, BinaryOp op>
bool binary(ScalarValue left, ScalarValue right, ScalarValue& result) {
  if constexpr (defined_on<E>(op)) {
    const auto a = left.as<typename E::Reg>(), b = right.as<typename E::Reg>();
    if constexpr (divides<E, op>)
      if (op == BinaryOp::pow ? a == 0 && b < 0 : b == 0) return false;
    result = ScalarValue::of(scalar_op<E, op>(a, b));
    return true;
  }
  return false;
}

template <typename E, std::size_t... ops>
ScalarFunction1 unary_of(UnaryOp op, std::index_sequence<ops...>) {
  static constexpr std::array<ScalarFunction1, sizeof...(ops)> kFunctions{&unary<E, static_cast<UnaryOp>(ops)>...};
  return kFunctions[static_cast<std::size_t>(op)];
}

template <typename E, std::size_t... ops>
ScalarFunction2 binary_of(BinaryOp op, std::index_sequence<ops...>) {
  static constexpr std::array<ScalarFunction2, sizeof...(ops)> kFunctions{&binary<E, static_cast<BinaryOp>(ops)>...};
  return kFunctions[static_cast<std::size_t>(op)];
}

template <typename From, typename To>
ScalarValue converted(ScalarValue a) {
  return ScalarValue::of(scalar::convert<From, To>(a.as<typename From::Reg>()));
}

template <typename From, typename To>
ScalarValue bitcast(ScalarValue a) {
  if constexpr (sizeof(typename From::Mem) == sizeof(typename To::Mem))
    return ScalarValue::of(scalar::bitcast<From, To>(a.as<typename From::Reg>()));
  DOVETAIL_CHECK(false, "a bitcast must keep the size");
  return {};
}

}  // namespace

ScalarValue scalar_literal(DType dtype, double value) {
  return with_element(dtype, [&]<typename E>() { return ScalarValue::of(scalar::convert<Plain<double>, E>(value)); });
}

ScalarValue scalar_literal(DType dtype, std::int64_t value) {
  return with_element(dtype,
                      [&]<typename E>() { return ScalarValue::of(scalar::convert<Plain<std::int64_t>, E>(value)); });
}

ScalarFunction1 function_of(UnaryOp op, DType operand) {
  return with_element(operand, [&]<typename E>() {
    return unary_of<E>(op, std::make_index_sequence<static_cast<std::size_t>(UnaryOp::is_inf) + 1>());
  });
}

ScalarFunction2 function_of(BinaryOp op, DType operand) {
  return with_element(operand, [&]<typename E>() {
    return binary_of<E>(op, std::make_index_sequence<static_cast<std::size_t>(BinaryOp::logical_or) + 1>());
  });
}

ScalarFunction1 conversion(DType from, DType to) {
  return with_element(from, [&]<typename From>() {
    return with_element(to, [&]<typename To>() { return ScalarFunction1{&converted<From, To>}; });
  });
}

ScalarFunction1 bit_conversion(DType from, DType to) {
  return with_element(from, [&]<typename From>() {
    return with_element(to, [&]<typename To>() { return ScalarFunction1{&bitcast<From, To>}; });
  });
}

std::int64_t to_int64(DType dtype, ScalarValue a) {
  return with_element(dtype, [&]<typename E>() { return static_cast<std::int64_t>(a.as<typename E::Reg>()); });
}

ScalarValue read(DType dtype, const std::byte* place) {
  return with_element(dtype, [&]<typename E>() {
    typename E::Mem value;
    std::memcpy(&value, place, sizeof value);
    return ScalarValue::of(E::read(value));
  });
}

void write(DType dtype, std::byte* place, ScalarValue value) {
  with_element(dtype, [&]<typename E>() {
    const typename E::Mem stored = E::write(value.as<typename E::Reg>());
    std::memcpy(place, &stored, sizeof stored);
  });
}

}  // namespace dovetail::loops

#include "loops/threads/scalar_value.h"

#include <utility>

#include "base/check.h"
#include "loops/interpreter/element.h"
#include "loops/interpreter/scalar_ops.h"

namespace dovetail::loops {

namespace {

template <typename E, std::size_t... ops>
ScalarValue unary_of(UnaryOp op, typename E::Reg a, std::index_sequence<ops...>) {
  ScalarValue result;
  const auto one = [&]<UnaryOp candidate>() {
    if (op != candidate) return;
    if constexpr (candidate == UnaryOp::is_nan) result = ScalarValue::of<std::uint8_t>(scalar::is_nan(a));
    else if constexpr (candidate == UnaryOp::is_inf) result = ScalarValue::of<std::uint8_t>(scalar::is_inf(a));
    else if constexpr (candidate == UnaryOp::logical_not) result = ScalarValue::of<std::uint8_t>(a == 0);
    else if constexpr (candidate == UnaryOp::neg || candidate == UnaryOp::abs || candidate == UnaryOp::sign)
      result = ScalarValue::of(E::round(unary_op<candidate>(a)));
    else if constexpr (is_float_element<E> && candidate != UnaryOp::bit_not)
      result = ScalarValue::of(E::round(unary_op<candidate>(a)));
    else if constexpr (!is_float_element<E> && candidate == UnaryOp::bit_not)
      result = ScalarValue::of(unary_op<candidate>(a));
    else result = ScalarValue::of(a);  // rounding functions of integers
  };
  (one.template operator()<static_cast<UnaryOp>(ops)>(), ...);
  return result;
}

template <typename E, std::size_t... ops>
std::optional<ScalarValue> binary_of(BinaryOp op, typename E::Reg a, typename E::Reg b, std::index_sequence<ops...>) {
  std::optional<ScalarValue> result;
  const auto one = [&]<BinaryOp candidate>() {
    if constexpr (defined_on<E>(candidate)) {
      if (op != candidate) return;
      if constexpr (divides<E, candidate>)
        if (candidate == BinaryOp::pow ? a == 0 && b < 0 : b == 0) return;
      result = ScalarValue::of(scalar_op<E, candidate>(a, b));
    }
  };
  (one.template operator()<static_cast<BinaryOp>(ops)>(), ...);
  return result;
}

}  // namespace

ScalarValue scalar_literal(DType dtype, double value) {
  return with_element(dtype, [&]<typename E>() { return ScalarValue::of(scalar::convert<Plain<double>, E>(value)); });
}

ScalarValue scalar_literal(DType dtype, std::int64_t value) {
  return with_element(dtype,
                      [&]<typename E>() { return ScalarValue::of(scalar::convert<Plain<std::int64_t>, E>(value)); });
}

ScalarValue apply(UnaryOp op, DType operand, ScalarValue a) {
  return with_element(operand, [&]<typename E>() {
    return unary_of<E>(op, a.as<typename E::Reg>(),
                       std::make_index_sequence<static_cast<std::size_t>(UnaryOp::is_inf) + 1>());
  });
}

std::optional<ScalarValue> apply(BinaryOp op, DType operand, ScalarValue a, ScalarValue b) {
  return with_element(operand, [&]<typename E>() {
    return binary_of<E>(op, a.as<typename E::Reg>(), b.as<typename E::Reg>(),
                        std::make_index_sequence<static_cast<std::size_t>(BinaryOp::logical_or) + 1>());
  });
}

ScalarValue convert(DType from, DType to, ScalarValue a) {
  return with_element(from, [&]<typename From>() {
    return with_element(
        to, [&]<typename To>() { return ScalarValue::of(scalar::convert<From, To>(a.as<typename From::Reg>())); });
  });
}

ScalarValue bitcast(DType from, DType to, ScalarValue a) {
  return with_element(from, [&]<typename From>() {
    return with_element(to, [&]<typename To>() -> ScalarValue {
      if constexpr (sizeof(typename From::Mem) == sizeof(typename To::Mem))
        return ScalarValue::of(scalar::bitcast<From, To>(a.as<typename From::Reg>()));
      DOVETAIL_CHECK(false, "a bitcast keeps the size");
      return {};
    });
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

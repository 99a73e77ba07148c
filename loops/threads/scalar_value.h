// One value of any element type, and the operators of expressions on it, for code that interprets a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "loops/ir.h"

namespace dovetail::loops {

struct ScalarValue {
  std::uint64_t bits = 0;  // bits of the register that holds it (loops/scalar/element.h)

  template <typename R>
  static ScalarValue of(R value) {
    ScalarValue result;
    std::memcpy(&result.bits, &value, sizeof value);
    return result;
  }
  template <typename R>
  R as() const {
    R value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  bool truth() const { return as<std::uint8_t>() != 0; }
};

ScalarValue scalar_literal(DType dtype, double value);
ScalarValue scalar_literal(DType dtype, std::int64_t value);
// Functions of single values. Functions of two values return whether there is a result: an integer may be divided by
// zero.
using ScalarFunction1 = ScalarValue (*)(ScalarValue);
using ScalarFunction2 = bool (*)(ScalarValue a, ScalarValue b, ScalarValue& result);
ScalarFunction1 function_of(UnaryOp op, DType operand);
ScalarFunction2 function_of(BinaryOp op, DType operand);
ScalarFunction1 conversion(DType from, DType to);
ScalarFunction1 bit_conversion(DType from, DType to);  // between types of equal size
std::int64_t to_int64(DType dtype, ScalarValue a);     // precondition: an integer or bool

ScalarValue read(DType dtype, const std::byte* place);
void write(DType dtype, std::byte* place, ScalarValue value);

}  // namespace dovetail::loops

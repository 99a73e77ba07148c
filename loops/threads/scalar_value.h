// One value of any element type, and the operators of expressions on it: what a walk over a program computes with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/dtype.h"
#include "loops/ir.h"

namespace dovetail::loops {

struct ScalarValue {
  std::uint64_t bits = 0;  // of the register that holds it (loops/scalar/element.h)

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
ScalarValue apply(UnaryOp op, DType operand, ScalarValue a);
// nullopt: an integer is divided by zero.
std::optional<ScalarValue> apply(BinaryOp op, DType operand, ScalarValue a, ScalarValue b);
ScalarValue convert(DType from, DType to, ScalarValue a);
ScalarValue bitcast(DType from, DType to, ScalarValue a);
std::int64_t to_int64(DType dtype, ScalarValue a);  // precondition: an integer or bool

ScalarValue read(DType dtype, const std::byte* place);
void write(DType dtype, std::byte* place, ScalarValue value);

}  // namespace dovetail::loops

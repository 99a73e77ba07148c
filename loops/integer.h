// Integer arithmetic of the loop programs on values stored as int64: signed types sign-extended, unsigned ones
// zero-extended (uint64 as its bits), bool as 0 or 1. Shared by `evaluate`, constant folding and interval analysis.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/dtype.h"
#include "loops/ir.h"

namespace dovetail::loops {

// Smallest and largest value of an integer type or bool. uint64: the representation wraps, so its range is that of
// int64.
constexpr std::int64_t type_min(DType dtype) {
  if (dtype == DType::uint64 || dtype == DType::int64) return std::numeric_limits<std::int64_t>::min();
  return is_signed_integer(dtype) ? -(std::int64_t{1} << (8 * size_bytes(dtype) - 1)) : 0;
}
constexpr std::int64_t type_max(DType dtype) {
  if (dtype == DType::uint64 || dtype == DType::int64) return std::numeric_limits<std::int64_t>::max();
  if (dtype == DType::boolean) return 1;
  return (std::int64_t{1} << (8 * size_bytes(dtype) - (is_signed_integer(dtype) ? 1 : 0))) - 1;
}
constexpr bool fits(std::int64_t value, DType dtype) { return value >= type_min(dtype) && value <= type_max(dtype); }

// The value modulo 2^bits in the representation above; bool: non-zero is 1.
std::int64_t wrap(std::int64_t value, DType dtype);

// The operation on two values of `dtype` (operands' type). nullopt: division by zero (pow: zero to a negative power).
std::optional<std::int64_t> fold(BinaryOp op, DType dtype, std::int64_t a, std::int64_t b);
// nullopt: not an integer operation.
std::optional<std::int64_t> fold(UnaryOp op, DType dtype, std::int64_t a);

std::int64_t floor_div(std::int64_t a, std::int64_t b);  // preconditions: b > 0
std::int64_t floor_mod(std::int64_t a, std::int64_t b);

}  // namespace dovetail::loops

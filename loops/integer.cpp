#include "loops/integer.h"

#include <algorithm>

namespace dovetail::loops {
namespace {

__extension__ typedef __int128 Wide;  // a compiler extension, not standard C++

std::int64_t to_representation(Wide value, DType dtype) { return wrap(static_cast<std::int64_t>(value), dtype); }

// The mathematical value: only uint64 differs from its representation.
Wide widen(std::int64_t value, DType dtype) {
  return dtype == DType::uint64 ? static_cast<Wide>(static_cast<std::uint64_t>(value)) : static_cast<Wide>(value);
}

Wide floor_quotient(Wide a, Wide b) { return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0); }

std::optional<std::int64_t> power(DType dtype, std::int64_t base, Wide exponent) {
  if (exponent < 0) {  // the exact power, truncated
    if (base == 0) return std::nullopt;
    if (base == 1) return 1;
    if (base == -1 && is_signed_integer(dtype)) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::uint64_t result = 1;
  std::uint64_t factor = static_cast<std::uint64_t>(base);
  for (; exponent > 0; exponent /= 2, factor *= factor)
    if (exponent % 2 != 0) result *= factor;
  return wrap(static_cast<std::int64_t>(result), dtype);
}

std::int64_t shift(BinaryOp op, DType dtype, std::int64_t a, std::int64_t b) {
  const bool outside = b < 0 || b >= 8 * size_bytes(dtype);  // a huge uint64 amount is negative here
  if (op == BinaryOp::shl)
    return outside ? 0 : wrap(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b), dtype);
  const Wide value = widen(a, dtype);
  return to_representation(outside ? (value < 0 ? -1 : 0) : value >> b, dtype);
}

}  // namespace

std::int64_t wrap(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::int8: return static_cast<std::int8_t>(value);
    case DType::uint8: return static_cast<std::uint8_t>(value);
    case DType::int16: return static_cast<std::int16_t>(value);
    case DType::uint16: return static_cast<std::uint16_t>(value);
    case DType::int32: return static_cast<std::int32_t>(value);
    case DType::uint32: return static_cast<std::uint32_t>(value);
    case DType::boolean: return value != 0 ? 1 : 0;
    default: return value;
  }
}

std::optional<std::int64_t> fold(BinaryOp op, DType dtype, std::int64_t a, std::int64_t b) {
  const Wide x = widen(a, dtype);
  const Wide y = widen(b, dtype);
  switch (op) {
    case BinaryOp::add: return to_representation(x + y, dtype);
    case BinaryOp::sub: return to_representation(x - y, dtype);
    case BinaryOp::mul:
      return wrap(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)), dtype);
    case BinaryOp::div:
      if (y == 0) return std::nullopt;
      return to_representation(x / y, dtype);
    case BinaryOp::mod:
      if (y == 0) return std::nullopt;
      return to_representation(x % y, dtype);
    case BinaryOp::floor_div:
      if (y == 0) return std::nullopt;
      return to_representation(floor_quotient(x, y), dtype);
    case BinaryOp::floor_mod:
      if (y == 0) return std::nullopt;
      return to_representation(x - floor_quotient(x, y) * y, dtype);
    case BinaryOp::min: return x < y ? a : b;
    case BinaryOp::max: return x > y ? a : b;
    case BinaryOp::pow: return power(dtype, a, y);
    case BinaryOp::shl:
    case BinaryOp::shr: return shift(op, dtype, a, b);
    case BinaryOp::bit_and: return a & b;
    case BinaryOp::bit_or: return a | b;
    case BinaryOp::bit_xor: return a ^ b;
    case BinaryOp::eq: return x == y;
    case BinaryOp::ne: return x != y;
    case BinaryOp::lt: return x < y;
    case BinaryOp::le: return x <= y;
    case BinaryOp::gt: return x > y;
    case BinaryOp::ge: return x >= y;
    case BinaryOp::logical_and: return a != 0 && b != 0;
    case BinaryOp::logical_or: return a != 0 || b != 0;
  }
  return std::nullopt;
}

std::optional<std::int64_t> fold(UnaryOp op, DType dtype, std::int64_t a) {
  const Wide x = widen(a, dtype);
  switch (op) {
    case UnaryOp::neg: return to_representation(-x, dtype);
    case UnaryOp::logical_not: return a == 0;
    case UnaryOp::bit_not: return wrap(~a, dtype);
    case UnaryOp::abs: return to_representation(x < 0 ? -x : x, dtype);
    case UnaryOp::sign: return x < 0 ? -1 : (x > 0 ? 1 : 0);
    default: return std::nullopt;
  }
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a % b < 0 ? a % b + b : a % b; }

}  // namespace dovetail::loops

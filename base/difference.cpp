#include "base/difference.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"

namespace dovetail {

namespace {

bool equal_element(const NdArray& a, const NdArray& b, std::int64_t index) {
  const auto size = static_cast<std::size_t>(size_bytes(a.dtype()));
  const auto at = static_cast<std::size_t>(index) * size;
  if (std::equal(a.bytes().begin() + static_cast<std::ptrdiff_t>(at),
                 a.bytes().begin() + static_cast<std::ptrdiff_t>(at + size),
                 b.bytes().begin() + static_cast<std::ptrdiff_t>(at)))
    return true;
  return is_floating(a.dtype()) && std::isnan(a.as_double(index)) && std::isnan(b.as_double(index));
}

double largest_magnitude(const NdArray& array) {
  double largest = 0;
  for (std::int64_t i = 0; i < array.count(); ++i)
    if (const double value = std::abs(array.as_double(i)); std::isfinite(value)) largest = std::max(largest, value);
  return largest;
}

std::string element_text(const NdArray& array, std::int64_t index) {
  return is_floating(array.dtype()) ? fmt::format("{:.9g}", array.as_double(index))
                                    : fmt::format("{}", array.as_int64(index));
}

// [1, 16, 8, 8] at 1023 -> "[0, 15, 7, 7]"
std::string position_text(const Shape& shape, std::int64_t index) {
  Shape position(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    position[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return to_string(position);
}

}  // namespace

double tolerance_of(DType dtype, double floating) {
  constexpr double kRoundings = 8;
  if (floating <= 0) return floating;
  if (dtype == DType::float16) return std::max(floating, kRoundings * 0x1p-11);
  if (dtype == DType::bfloat16) return std::max(floating, kRoundings * 0x1p-8);
  return floating;
}

std::optional<Difference> find_difference(const NdArray& expected, const NdArray& actual, const Tolerance& tolerance) {
  DOVETAIL_CHECK(expected.dtype() == actual.dtype() && expected.shape() == actual.shape(),
                 "the arrays must have the same type and shape");
  if (std::ranges::equal(expected.bytes(), actual.bytes())) return std::nullopt;
  const bool floating = is_floating(expected.dtype()),
             tolerant = floating ? tolerance.floating > 0 : tolerance.integer > 0;
  const double allowed =
      floating && tolerant ? tolerance_of(expected.dtype(), tolerance.floating) * largest_magnitude(expected) : 0;
  const auto is_close = [&](std::int64_t i) {
    if (!tolerant) return false;
    if (floating) return std::abs(expected.as_double(i) - actual.as_double(i)) <= allowed;
    std::int64_t apart = 0;
    return !__builtin_sub_overflow(expected.as_int64(i), actual.as_int64(i), &apart) && apart >= -tolerance.integer &&
           apart <= tolerance.integer;
  };
  Difference result;
  for (std::int64_t i = 0; i < expected.count(); ++i)
    if (!equal_element(expected, actual, i) && !is_close(i) && result.count++ == 0) result.first = i;
  return result.count == 0 ? std::nullopt : std::optional(result);
}

std::string to_string(const Difference& difference, const NdArray& expected, const NdArray& actual) {
  return fmt::format("{} of {} elements; first at {}: {}, expected {}", difference.count, expected.count(),
                     position_text(expected.shape(), difference.first), element_text(actual, difference.first),
                     element_text(expected, difference.first));
}

}  // namespace dovetail

#include "base/ndarray.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dovetail {

namespace {

// Element types without a C++ type of their format: their bits are stored in an integer.
struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

template <typename Visitor>
auto with_element_type(DType dtype, Visitor visit) {
  switch (dtype) {
    case DType::int8: return visit(std::int8_t{});
    case DType::uint8: return visit(std::uint8_t{});
    case DType::int16: return visit(std::int16_t{});
    case DType::uint16: return visit(std::uint16_t{});
    case DType::int32: return visit(std::int32_t{});
    case DType::uint32: return visit(std::uint32_t{});
    case DType::int64: return visit(std::int64_t{});
    case DType::uint64: return visit(std::uint64_t{});
    case DType::float16: return visit(Float16{});
    case DType::bfloat16: return visit(BFloat16{});
    case DType::float32: return visit(float{});
    case DType::float64: return visit(double{});
    case DType::boolean: return visit(bool{});
  }
  throw_internal_error(__FILE__, __LINE__, "dtype is a DType", fmt::format("{}", static_cast<int>(dtype)));
}

// Truncates toward zero; outside the range of T the nearest value, and 0 for NaN, so that the result is the same on
// every machine.
template <typename T>
T saturate_to(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kBelow = static_cast<double>(std::numeric_limits<T>::min());
  const double above =
      std::ldexp(1.0, std::numeric_limits<T>::digits);  // one past the maximum, exact where the maximum is not
  if (value <= kBelow) return std::numeric_limits<T>::min();
  if (value >= above) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

// Rounds to binary32 toward zero and sets the last bit if anything was lost ("round to odd"). Rounding the result once
// more to a format at least two bits narrower then gives what one rounding of `value` gives (Boldo and Melquiond,
// 2008). `long double` holds every int64.
float round_to_odd(long double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(nearest) || static_cast<long double>(nearest) == value) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<long double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

template <typename T, typename Number>
T convert_to(Number value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return {float_to_float16(round_to_odd(value))};
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return {float_to_bfloat16(round_to_odd(value))};
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Number>) {
    return saturate_to<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename Number, typename T>
Number convert_from(T value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return convert_to<Number>(static_cast<double>(float16_to_float(value.bits)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return convert_to<Number>(static_cast<double>(bfloat16_to_float(value.bits)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return convert_to<Number>(static_cast<double>(value));
  } else {
    return static_cast<Number>(value);
  }
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    DOVETAIL_CHECK(extent >= 0, fmt::format("shape {}", to_string(shape)));
    if (extent == 0) empty = true;
    else overflow |= __builtin_mul_overflow(count, extent, &count);
  }
  if (empty) return 0;
  DOVETAIL_CHECK(!overflow, fmt::format("the elements of shape {} exceed int64", to_string(shape)));
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

NdArray::NdArray(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)), count_(element_count(shape_)) {
  std::int64_t total_bytes = 0;
  DOVETAIL_CHECK(!__builtin_mul_overflow(count_, std::int64_t{size_bytes(dtype)}, &total_bytes),
                 fmt::format("the bytes of {} {} exceed int64", name(dtype), to_string(shape_)));
  bytes_ = AlignedBytes(static_cast<std::size_t>(total_bytes));
}

NdArray::NdArray(DType dtype, Shape shape, std::span<const std::byte> bytes)
    : dtype_(dtype), shape_(std::move(shape)), count_(element_count(shape_)), bytes_(bytes) {
  const auto element_bytes = static_cast<std::size_t>(size_bytes(dtype));
  DOVETAIL_CHECK(
      bytes_.size() % element_bytes == 0 && bytes_.size() / element_bytes == static_cast<std::size_t>(count_),
      fmt::format("{} bytes for {} {}", bytes_.size(), name(dtype), to_string(shape_)));
}

void NdArray::freeze() {
  if (!frozen_) frozen_ = std::make_shared<const AlignedBytes>(std::move(bytes_));
}

void NdArray::thaw() {
  bytes_ = *frozen_;
  frozen_.reset();
}

bool NdArray::operator==(const NdArray& other) const {
  return dtype_ == other.dtype_ && shape_ == other.shape_ &&
         ((frozen_ && frozen_ == other.frozen_) || std::ranges::equal(bytes(), other.bytes()));
}

double NdArray::as_double(std::int64_t index) const {
  DOVETAIL_CHECK(index >= 0 && index < count_, fmt::format("element {} of {}", index, count_));
  return with_element_type(dtype_, [&]<typename T>(T value) {
    std::memcpy(&value, bytes().data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
    return convert_from<double>(value);
  });
}

std::int64_t NdArray::as_int64(std::int64_t index) const {
  DOVETAIL_CHECK(index >= 0 && index < count_, fmt::format("element {} of {}", index, count_));
  return with_element_type(dtype_, [&]<typename T>(T value) {
    std::memcpy(&value, bytes().data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
    return convert_from<std::int64_t>(value);
  });
}

void NdArray::set_double(std::int64_t index, double value) {
  DOVETAIL_CHECK(index >= 0 && index < count_, fmt::format("element {} of {}", index, count_));
  with_element_type(dtype_, [&]<typename T>(T) {
    const T element = convert_to<T>(value);
    std::memcpy(bytes().data() + static_cast<std::size_t>(index) * sizeof(T), &element, sizeof(T));
  });
}

void NdArray::set_int64(std::int64_t index, std::int64_t value) {
  DOVETAIL_CHECK(index >= 0 && index < count_, fmt::format("element {} of {}", index, count_));
  with_element_type(dtype_, [&]<typename T>(T) {
    const T element = convert_to<T>(value);
    std::memcpy(bytes().data() + static_cast<std::size_t>(index) * sizeof(T), &element, sizeof(T));
  });
}

NdArray NdArray::reshaped(Shape shape) const {
  DOVETAIL_CHECK(element_count(shape) == count_, fmt::format("{} to {}", to_string(shape_), to_string(shape)));
  NdArray array = *this;
  array.shape_ = std::move(shape);
  return array;
}

}  // namespace dovetail

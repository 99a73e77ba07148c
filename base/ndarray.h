// NdArray: an owning, contiguous, row-major array of one dtype. All interfaces of the kit pass tensors as NdArray.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/check.h"
#include "base/dtype.h"

namespace dovetail {

using Shape = std::vector<std::int64_t>;

// Product of the extents; 1 for a scalar (empty shape). Precondition: no extent is negative and the product fits int64.
std::int64_t element_count(const Shape& shape);
std::string to_string(const Shape& shape);  // "[1, 16, 8, 8]"

class NdArray {
 public:
  NdArray() : NdArray(DType::float32, {0}) {}
  NdArray(DType dtype, Shape shape);  // zero-filled
  NdArray(DType dtype, Shape shape,
          std::span<const std::byte> bytes);  // a copy; precondition: bytes.size() == count * size

  template <typename T>
  static NdArray from(Shape shape, const std::vector<T>& values) {
    NdArray array(dtype_of<T>, std::move(shape));
    DOVETAIL_CHECK(static_cast<std::size_t>(array.count()) == values.size(),
                   "the number of values must match the shape");
    for (std::size_t i = 0; i < values.size(); ++i) array.template data<T>()[i] = values[i];
    return array;
  }
  template <typename T>
  static NdArray scalar(T value) {
    return from<T>({}, {value});
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t count() const { return count_; }

  // Makes the elements immutable: copies of a frozen array share them. Writing to a copy first gives it separate
  // elements, which are not frozen. Views taken before freezing must not be written to afterwards.
  void freeze();

  std::span<std::byte> bytes() {
    if (frozen_) thaw();
    return bytes_;
  }
  std::span<const std::byte> bytes() const { return frozen_ ? std::span(*frozen_) : std::span(bytes_); }

  // Typed view. Precondition: dtype_of<T> == dtype().
  template <typename T>
  std::span<T> data() {
    DOVETAIL_CHECK(dtype_of<T> == dtype_, std::string("array holds ") + std::string(name(dtype_)));
    return {reinterpret_cast<T*>(bytes().data()), static_cast<std::size_t>(count_)};
  }
  template <typename T>
  std::span<const T> data() const {
    DOVETAIL_CHECK(dtype_of<T> == dtype_, std::string("array holds ") + std::string(name(dtype_)));
    return {reinterpret_cast<const T*>(bytes().data()), static_cast<std::size_t>(count_)};
  }

  // Element `index` (row-major) as a number of another kind: exact where the target can hold it. float16 and bfloat16
  // are decoded.
  double as_double(std::int64_t index) const;
  std::int64_t as_int64(std::int64_t index) const;
  // Stores a number with C++ conversion rules of the element type; float16/bfloat16 round to nearest even, once. Where
  // C++ leaves the result undefined (a real number outside an integer's range), the result is the nearest value of that
  // range, and 0 for NaN (as_int64 too).
  void set_double(std::int64_t index, double value);
  void set_int64(std::int64_t index, std::int64_t value);

  NdArray reshaped(Shape shape) const;          // precondition: equal element count
  bool operator==(const NdArray& other) const;  // dtype, shape and bytes

 private:
  void thaw();

  DType dtype_;
  Shape shape_;
  std::int64_t count_;
  AlignedBytes bytes_;  // empty if frozen
  std::shared_ptr<const AlignedBytes> frozen_;
};

inline NdArray frozen(NdArray array) {
  array.freeze();
  return array;
}

// IEEE binary16 and bfloat16 as bit patterns; rounding to nearest even.
float float16_to_float(std::uint16_t bits);
std::uint16_t float_to_float16(float value);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);

}  // namespace dovetail

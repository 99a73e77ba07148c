#include "base/ndarray.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"

namespace dovetail {

namespace {
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

double stored(DType dtype, double value) {
  NdArray array(dtype, {});
  array.set_double(0, value);
  return array.as_double(0);
}
double stored_int(DType dtype, std::int64_t value) {
  NdArray array(dtype, {});
  array.set_int64(0, value);
  return array.as_double(0);
}
}  // namespace

TEST_CASE("element_count multiplies the extents") {
  CHECK(element_count({}) == 1);
  CHECK(element_count({2, 3, 4}) == 24);
  CHECK(element_count({5, 0, 7}) == 0);
  CHECK(element_count({kInt64Max, kInt64Max, 0}) == 0);
  CHECK_THROWS_AS(element_count({kInt64Max, 2}), InternalError);
  CHECK_THROWS_AS(element_count({-1}), InternalError);
}

TEST_CASE("shapes print as lists") {
  CHECK(to_string(Shape{1, 16, 8}) == "[1, 16, 8]");
  CHECK(to_string(Shape{}) == "[]");
}

TEST_CASE("a new array is zero, a default one empty") {
  const NdArray array(DType::int32, {2, 2});
  CHECK(array.bytes().size() == 16);
  for (const std::int32_t value : array.data<std::int32_t>()) CHECK(value == 0);
  CHECK(NdArray().count() == 0);
}

TEST_CASE("an array made from values is row-major") {
  const NdArray array = NdArray::from<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(array.dtype() == DType::int16);
  CHECK(array.rank() == 2);
  CHECK(array.as_int64(4) == 5);
  CHECK(array.reshaped({3, 2}).data<std::int16_t>()[4] == 5);
  CHECK(NdArray::scalar(true).as_int64(0) == 1);
}

TEST_CASE("arrays of bool come from std::vector<bool>") {
  const NdArray array = NdArray::from<bool>({3}, {true, false, true});
  CHECK(array.as_double(0) == 1);
  CHECK(array.as_double(1) == 0);
}

TEST_CASE("violated preconditions are internal errors that show the numbers") {
  using Catch::Matchers::ContainsSubstring;
  NdArray array(DType::int8, {2, 3});
  CHECK_THROWS_WITH(NdArray(DType::int16, {2}, std::vector<std::byte>(3)), ContainsSubstring("3 bytes for int16 [2]"));
  CHECK_THROWS_WITH(array.data<float>(), ContainsSubstring("array holds int8"));
  CHECK_THROWS_WITH(array.reshaped({5}), ContainsSubstring("[2, 3] to [5]"));
  CHECK_THROWS_WITH(array.as_double(6), ContainsSubstring("element 6 of 6"));
  CHECK_THROWS_AS(array.set_int64(-1, 0), InternalError);
  CHECK_THROWS_AS(NdArray::from<float>({2}, {1.0f}), InternalError);
  CHECK_THROWS_AS(NdArray(DType::float64, {kInt64Max / 4}), InternalError);
}

TEST_CASE("equality compares dtype, shape and bytes") {
  const NdArray array = NdArray::from<std::int32_t>({2}, {1, 2});
  CHECK(array == NdArray::from<std::int32_t>({2}, {1, 2}));
  CHECK(array != NdArray::from<std::int32_t>({1, 2}, {1, 2}));
  CHECK(array != NdArray::from<std::uint32_t>({2}, {1, 2}));
  CHECK(array != NdArray::from<std::int32_t>({2}, {1, 3}));
}

TEST_CASE("copies of a frozen array share its elements until one is written") {
  const NdArray original = frozen(NdArray::from<std::int32_t>({2}, {1, 2}));
  NdArray copy = original, reshaped = original.reshaped({1, 2});
  const NdArray& read = copy;
  CHECK(read.bytes().data() == original.bytes().data());
  CHECK(std::as_const(reshaped).bytes().data() == original.bytes().data());
  CHECK(copy == original);
  CHECK(copy != reshaped);
  copy.set_int64(0, 7);
  reshaped.data<std::int32_t>()[1] = 9;
  CHECK(copy == NdArray::from<std::int32_t>({2}, {7, 2}));
  CHECK(reshaped == NdArray::from<std::int32_t>({1, 2}, {1, 9}));
  CHECK(original == NdArray::from<std::int32_t>({2}, {1, 2}));
  CHECK(frozen(NdArray()) == NdArray());
}

TEST_CASE("integers wrap when stored as integers") {
  CHECK(stored_int(DType::int8, 200) == -56);
  CHECK(stored_int(DType::uint8, -1) == 255);
  CHECK(stored_int(DType::int32, std::int64_t{1} << 31) == -0x1p31);
  CHECK(stored_int(DType::uint64, -1) == 0x1p64);
  CHECK(stored_int(DType::boolean, 256) == 1);
}

TEST_CASE("real numbers are truncated when stored as integers, and saturate") {
  CHECK(stored(DType::int8, -1.9) == -1);
  CHECK(stored(DType::int8, 1e9) == 127);
  CHECK(stored(DType::int8, -128.7) == -128);
  CHECK(stored(DType::uint8, -0.5) == 0);
  CHECK(stored(DType::uint8, -5) == 0);
  CHECK(stored(DType::int32, 2147483647.5) == 2147483647);
  CHECK(stored(DType::uint64, 0x1p63) == 0x1p63);
  CHECK(stored(DType::int64, std::nan("")) == 0);
  CHECK(stored(DType::boolean, 0.25) == 1);
  CHECK(NdArray::scalar(1e300).as_int64(0) == kInt64Max);
  CHECK(NdArray::scalar(-std::numeric_limits<float>::infinity()).as_int64(0) == kInt64Min);
  CHECK(NdArray::scalar(-2.75f).as_int64(0) == -2);
}

TEST_CASE("int64 values are stored exactly") {
  NdArray array(DType::int64, {2});
  array.set_int64(0, kInt64Max);
  array.set_int64(1, kInt64Min);
  CHECK(array.as_int64(0) == kInt64Max);
  CHECK(array.as_int64(1) == kInt64Min);
}

TEST_CASE("the narrow floats are rounded once, not through float") {
  // Just above a tie of float16; rounding to binary32 first would give the tie.
  CHECK(stored(DType::float16, 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10);
  CHECK(stored(DType::float16, 1 + 0x1p-11) == 1);
  CHECK(stored(DType::float16, 1 + 3 * 0x1p-11 - 0x1p-40) == 1 + 0x1p-10);
  CHECK(stored(DType::bfloat16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
  CHECK(stored(DType::bfloat16, -(1 + 0x1p-8 + 0x1p-40)) == -(1 + 0x1p-7));
  CHECK(stored_int(DType::bfloat16, (std::int64_t{1} << 40) + (std::int64_t{1} << 32) + 1) == 0x1p40 + 0x1p33);
  CHECK(stored(DType::float16, 1e300) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(stored(DType::bfloat16, std::nan(""))));
}

TEST_CASE("float16 and bfloat16 are decoded") {
  NdArray array(DType::float16, {1}, std::vector{std::byte{0x00}, std::byte{0xc0}});
  CHECK(array.as_double(0) == -2);
  CHECK(array.as_int64(0) == -2);
  array = NdArray(DType::bfloat16, {1}, std::vector{std::byte{0x80}, std::byte{0x3f}});
  CHECK(array.as_double(0) == 1);
}

}  // namespace dovetail

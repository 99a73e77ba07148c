#include "base/difference.h"

#include <limits>

#include "tests/catch.h"

using namespace dovetail;

namespace {

std::string text_of_difference(const NdArray& expected, const NdArray& actual, const Tolerance& tolerance = {}) {
  const auto difference = find_difference(expected, actual, tolerance);
  return difference ? to_string(*difference, expected, actual) : "";
}
NdArray floats(const std::vector<float>& values) {
  return NdArray::from<float>({2, static_cast<std::int64_t>(values.size()) / 2}, values);
}
NdArray bytes(const std::vector<std::int8_t>& values) {
  return NdArray::from<std::int8_t>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("difference: without a tolerance, bits are compared") {
  CHECK(text_of_difference(floats({1, 2, 3, 4}), floats({1, 2, 3, 4})).empty());
  CHECK(text_of_difference(floats({1, 2, 3, 4}), floats({1, 2, 3.5F, 5})) ==
        "2 of 4 elements; first at [1, 0]: 3.5, expected 3");
  CHECK(text_of_difference(floats({0, 1}), floats({-0.0F, 1})) == "1 of 2 elements; first at [0, 0]: -0, expected 0");
  CHECK(text_of_difference(bytes({1, 2}), bytes({1, 3})) == "1 of 2 elements; first at [1]: 3, expected 2");
}

TEST_CASE("difference: floats may differ by a fraction of the largest") {
  const NdArray expected = floats({1000, 1, 0, -1});
  CHECK(text_of_difference(expected, floats({1000, 1.0625F, -0.0F, -1.0625F}), {1e-4}).empty());
  CHECK(text_of_difference(expected, floats({1000, 1.125F, 0, -1}), {1e-4}) ==
        "1 of 4 elements; first at [0, 1]: 1.125, expected 1");
  CHECK(text_of_difference(floats({0, 0}), floats({-0.0F, 0}), {1e-4}).empty());
}

TEST_CASE("difference: NaN equals only NaN, and an infinity only the same infinity") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const double tolerance : {0.0, 1e-4}) {
    CHECK(text_of_difference(floats({nan, 1}), floats({-nan, 1}), {tolerance}).empty());
    CHECK_FALSE(text_of_difference(floats({1, nan}), floats({1, 2}), {tolerance}).empty());
    CHECK_FALSE(text_of_difference(floats({1, 2}), floats({1, nan}), {tolerance}).empty());
    CHECK(text_of_difference(floats({infinity, 1}), floats({infinity, 1}), {tolerance}).empty());
    CHECK_FALSE(text_of_difference(floats({infinity, 1}), floats({-infinity, 1}), {tolerance}).empty());
    CHECK_FALSE(text_of_difference(floats({infinity, 1}), floats({1, 1}), {tolerance}).empty());
  }
}

TEST_CASE("difference: halves may differ by eight roundings of the largest, where bits need not be equal") {
  const auto halves = [](DType dtype, std::initializer_list<double> values) {
    NdArray array(dtype, {static_cast<std::int64_t>(values.size())});
    std::int64_t i = 0;
    for (const double value : values) array.set_double(i++, value);
    return array;
  };
  const NdArray expected = halves(DType::float16, {1, 0.5});
  CHECK(text_of_difference(expected, halves(DType::float16, {1, 0.503}), {1e-4}).empty());
  CHECK_FALSE(text_of_difference(expected, halves(DType::float16, {1, 0.505}), {1e-4}).empty());
  CHECK_FALSE(text_of_difference(expected, halves(DType::float16, {1, 0.503})).empty());
  CHECK(text_of_difference(halves(DType::bfloat16, {1, 0.5}), halves(DType::bfloat16, {1, 0.53}), {1e-4}).empty());
  CHECK_FALSE(
      text_of_difference(halves(DType::bfloat16, {1, 0.5}), halves(DType::bfloat16, {1, 0.54}), {1e-4}).empty());
}

TEST_CASE("difference: integers may differ by steps") {
  CHECK(text_of_difference(bytes({1, 2}), bytes({2, 1}), {0, 1}).empty());
  CHECK_FALSE(text_of_difference(bytes({1, 2}), bytes({3, 2}), {0, 1}).empty());
  const auto wide = [](std::int64_t value) { return NdArray::from<std::int64_t>({1}, {value}); };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  CHECK_FALSE(text_of_difference(wide(kLeast), wide(-(kLeast + 1)), {0, 1}).empty());
  CHECK_FALSE(text_of_difference(bytes({1, 2}), bytes({2, 1}), {1e-4, 0}).empty());
}

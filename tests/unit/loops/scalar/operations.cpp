// The definition that interpreter and device share, compared with wider arithmetic.
#include "loops/scalar/operations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/ndarray.h"
#include "base/random.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

// A long double of 64 significant bits holds the product of acc and a significand exactly.
std::int32_t requantize_wide(std::int32_t acc, float scale, std::int32_t zero_point) {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  const int exponent = static_cast<int>(bits >> 23 & 0xff);
  const std::int64_t fraction = exponent == 0 ? 0 : (std::int64_t{1} << 23) + (bits & 0x7fffff);
  const std::int64_t product = std::int64_t{acc} * ((bits >> 31) != 0 ? -fraction : fraction);
  const long double scaled = std::nearbyint(std::ldexp(static_cast<long double>(product), exponent - 150));
  return static_cast<std::int32_t>(std::clamp<long double>(
      scaled + zero_point, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

TEST_CASE("a float64 below all of float32 is a half of its sign, and not NaN") {
  for (const double tiny : {1e-50, 4.9e-324, -1e-50}) {
    const float half = scalar::convert<Plain<double>, Float16>(tiny),
                brain = scalar::convert<Plain<double>, BFloat16>(tiny);
    CHECK(half == 0);
    CHECK(std::signbit(half) == std::signbit(tiny));
    CHECK(std::fabs(brain) <= 0x1p-133F);
    CHECK(std::signbit(brain) == std::signbit(tiny));
  }
}

TEST_CASE("requantize rounds the exact product once, for all bits of the scale") {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  SplitMix64 random(1);
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min(),
                         kMost = std::numeric_limits<std::int32_t>::max();
  const std::int32_t special[] = {0, 1, -1, 2, 3, kMost, kLeast, kLeast + 1, 1 << 24};
  for (int exponent = 0; exponent < 256; ++exponent)
    for (int i = 0; i < 300; ++i) {
      const auto bits = static_cast<std::uint32_t>(random.next());
      const auto scale = std::bit_cast<float>((bits & 0x807fffffU) | static_cast<std::uint32_t>(exponent) << 23);
      const std::int32_t acc = i % 3 == 0 ? special[random.next() % std::size(special)]
                                          : static_cast<std::int32_t>(random.next()) >> (random.next() % 32);
      const std::int32_t zero = i % 4 == 0 ? special[random.next() % std::size(special)]
                                           : static_cast<std::int32_t>(random.next() % 256) - 128;
      INFO(acc << " * " << scale << " + " << zero);
      REQUIRE(scalar::requantize(acc, scale, zero) == requantize_wide(acc, scale, zero));
    }
}

TEST_CASE("requantize rounds halves to even") {
  CHECK(scalar::requantize(1, 0.5F, 0) == 0);
  CHECK(scalar::requantize(3, 0.5F, 0) == 2);
  CHECK(scalar::requantize(-1, 0.5F, 0) == 0);
  CHECK(scalar::requantize(-3, 0.5F, 0) == -2);
}

TEST_CASE("integers become float16 and bfloat16 with one rounding") {
  SplitMix64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto value = static_cast<std::int64_t>(random.next()) >> (random.next() % 64);
    NdArray half(DType::float16, {1}), brain(DType::bfloat16, {1});
    half.set_int64(0, value);
    brain.set_int64(0, value);
    INFO(value);
    REQUIRE(static_cast<double>(scalar::convert<Plain<std::int64_t>, Float16>(value)) == half.as_double(0));
    REQUIRE(static_cast<double>(scalar::convert<Plain<std::int64_t>, BFloat16>(value)) == brain.as_double(0));
  }
}

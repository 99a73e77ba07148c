#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/ndarray.h"
#include "tests/catch.h"

namespace dovetail {

namespace {

constexpr std::uint32_t kPatterns = 65536;
const float kInfinity = std::numeric_limits<float>::infinity();

// The value of a bit pattern by the definition of the format; not for NaN.
double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = bits & ((1u << fraction_bits) - 1);
  const double magnitude = exponent == (1 << exponent_bits) - 1 ? static_cast<double>(kInfinity)
                           : exponent == 0
                               ? std::ldexp(fraction, 1 - bias - fraction_bits)
                               : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

struct Format {
  int exponent_bits;
  int fraction_bits;
  float (*decode)(std::uint16_t);
  std::uint16_t (*encode)(float);

  std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
  bool is_nan(std::uint32_t bits) const { return (bits & 0x7fffu) > infinity(); }
};
const Format kFloat16{5, 10, float16_to_float, float_to_float16};
const Format kBFloat16{8, 7, bfloat16_to_float, float_to_bfloat16};

// A CHECK for each pattern would take seconds: count the failures, and name the first.
void check_all_patterns(const Format& format) {
  for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
    const float value = format.decode(static_cast<std::uint16_t>(bits));
    const bool decoded = format.is_nan(bits) ? std::isnan(value)
                                             : static_cast<double>(value) ==
                                                       value_of(bits, format.exponent_bits, format.fraction_bits) &&
                                                   std::signbit(value) == ((bits & 0x8000u) != 0);
    if (decoded && format.encode(value) == bits) continue;
    CAPTURE(bits, value, format.encode(value));
    FAIL("pattern does not round-trip");
  }
}

// Between two neighbors: the midpoint rounds to the even one, the floats next to it round to the nearer one.
void check_all_ties(const Format& format) {
  for (std::uint32_t bits = 0; bits < format.infinity(); ++bits) {
    const double low = value_of(bits, format.exponent_bits, format.fraction_bits);
    // Beyond the largest number, infinity has the place of the next number: from their midpoint everything is infinite.
    const double high = bits + 1 < format.infinity()
                            ? value_of(bits + 1, format.exponent_bits, format.fraction_bits)
                            : 2 * low - value_of(bits - 1, format.exponent_bits, format.fraction_bits);
    const auto midpoint = static_cast<float>((low + high) / 2);
    if (static_cast<double>(midpoint) != (low + high) / 2) continue;  // below float's own subnormals
    const std::uint32_t even = (bits & 1) == 0 ? bits : bits + 1;
    const bool rounds = format.encode(midpoint) == even && format.encode(std::nextafter(midpoint, 0.0f)) == bits &&
                        format.encode(std::nextafter(midpoint, kInfinity)) == bits + 1 &&
                        format.encode(-midpoint) == (even | 0x8000u);
    if (rounds) continue;
    CAPTURE(bits, low, high, midpoint, format.encode(midpoint));
    FAIL("rounding is not to nearest even");
  }
}

}  // namespace

TEST_CASE("every float16 pattern decodes by definition and round-trips") { check_all_patterns(kFloat16); }
TEST_CASE("every bfloat16 pattern decodes by definition and round-trips") { check_all_patterns(kBFloat16); }
TEST_CASE("float16 rounds every tie to even") { check_all_ties(kFloat16); }
TEST_CASE("bfloat16 rounds every tie to even") { check_all_ties(kBFloat16); }

TEST_CASE("float16 limits") {
  CHECK(float_to_float16(65504.0f) == 0x7bff);
  CHECK(float_to_float16(65519.996f) == 0x7bff);
  CHECK(float_to_float16(65520.0f) == 0x7c00);
  CHECK(float_to_float16(std::numeric_limits<float>::max()) == 0x7c00);
  CHECK(float_to_float16(-kInfinity) == 0xfc00);
  CHECK(float_to_float16(0x1p-25f) == 0);  // a tie with zero
  CHECK(float_to_float16(std::nextafter(0x1p-25f, 1.0f)) == 1);
  CHECK(float_to_float16(std::numeric_limits<float>::denorm_min()) == 0);
  CHECK(float_to_float16(-0.0f) == 0x8000);
}

TEST_CASE("a NaN whose payload is too long stays a NaN") {
  const auto nan = std::bit_cast<float>(std::uint32_t{0x7f800001});
  CHECK(float_to_float16(nan) == 0x7e00);
  CHECK(float_to_bfloat16(nan) == 0x7fc0);
  CHECK(float_to_bfloat16(std::bit_cast<float>(std::uint32_t{0xffffffff})) == 0xffff);
}

}  // namespace dovetail

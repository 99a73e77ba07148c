#include "isa/semantics/requant.h"

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/catch.h"

namespace dovetail::isa::semantics {

namespace {

__extension__ using Wide = __int128;

// AluOp::requant by its definition in docs/gen/isa.md only: in 128 bits, with a division with remainder by the power of
// two. Exponents beyond what 128 bits can shift are limited where the result is known: up to 2^55 / 2^120 is 0, and at
// least 2^23 * 2^60 saturates.
std::int32_t reference(std::int32_t acc, std::int32_t bias, std::uint32_t scale, std::int32_t zero_point) {
  const std::int64_t wide_sum = std::int64_t{acc} + bias;
  const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(wide_sum & 0xffffffff));
  const int exponent = static_cast<int>(scale / 0x800000 % 256);
  Wide product = exponent == 0 ? 0 : Wide{sum} * (0x800000 + scale % 0x800000);
  if (scale >= 0x80000000u) product = -product;

  Wide rounded;
  if (exponent >= 150) {
    rounded = product * (Wide{1} << std::min(exponent - 150, 60));
  } else {
    const Wide divisor = Wide{1} << std::min(150 - exponent, 120);
    Wide quotient = product / divisor, remainder = product % divisor;  // truncated
    if (remainder < 0) remainder += divisor, --quotient;               // floored
    if (2 * remainder > divisor || (2 * remainder == divisor && quotient % 2 != 0)) ++quotient;
    rounded = quotient;
  }
  const Wide shifted = rounded + zero_point;
  return shifted > INT32_MAX ? INT32_MAX : shifted < INT32_MIN ? INT32_MIN : static_cast<std::int32_t>(shifted);
}

void check(std::int32_t acc, std::int32_t bias, std::uint32_t scale, std::int32_t zero_point) {
  if (requant(acc, bias, scale, zero_point) == reference(acc, bias, scale, zero_point)) return;
  CAPTURE(acc, bias, scale, zero_point);
  CHECK(requant(acc, bias, scale, zero_point) == reference(acc, bias, scale, zero_point));
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

TEST_CASE("requant rounds half to even, once, and then adds the zero point") {
  CHECK(requant(5, 0, bits_of(0.5f), 0) == 2);
  CHECK(requant(7, 0, bits_of(0.5f), 0) == 4);
  CHECK(requant(-5, 0, bits_of(0.5f), 0) == -2);
  CHECK(requant(-7, 0, bits_of(0.5f), 0) == -4);
  CHECK(requant(5, 0, bits_of(0.5f), 1) == 3);
  CHECK(requant(100, 23, bits_of(-1.0f), 3) == -120);
  CHECK(requant(3, 0, bits_of(0.25f), 0) == 1);
  // (2^31 - 1)(2^24 - 1) / 2^24 = 2147483519.0000...: binary64 would round the product first.
  CHECK(requant(INT32_MAX, 0, bits_of(1.0f) - 1, 0) == 2147483519);
}

TEST_CASE("requant wraps acc + bias and saturates the result") {
  CHECK(requant(INT32_MAX, 1, bits_of(1.0f), 0) == INT32_MIN);
  CHECK(requant(INT32_MIN, 0, bits_of(-1.0f), 0) == INT32_MAX);
  CHECK(requant(INT32_MIN, 0, bits_of(-1.0f), -1) == INT32_MAX);
  CHECK(requant(INT32_MIN, 0, bits_of(-1.0f), -2) == INT32_MAX - 1);
  CHECK(requant(INT32_MIN, 0, bits_of(1.0f), -1) == INT32_MIN);
  CHECK(requant(INT32_MAX, 0, bits_of(1.0f), 1) == INT32_MAX);
}

TEST_CASE("requant interprets every bit pattern of the scale as a number") {
  CHECK(requant(12345, 0, 0x00000000, 7) == 7);
  CHECK(requant(12345, 0, 0x007fffff, 7) == 7);      // a subnormal
  CHECK(requant(INT32_MAX, 0, 0x00800000, 7) == 7);  // the smallest exponent
  CHECK(requant(1, 0, 0x7f800000, 0) == INT32_MAX);  // an infinity in IEEE 754, 2^128 here
  CHECK(requant(-1, 0, 0x7fc00000, 0) == INT32_MIN);
  CHECK(requant(1, 0, 0xffffffff, 0) == INT32_MIN);
  CHECK(requant(0, 0, 0x7f800000, -3) == -3);
}

TEST_CASE("requant agrees with 128-bit arithmetic on the edges of every exponent") {
  const std::vector<std::int32_t> values{0,          1,
                                         -1,         2,
                                         3,          -3,
                                         127,        -128,
                                         255,        0x7fffff,
                                         0x800000,   0x800001,
                                         -0x800000,  0xffffff,
                                         0x1000000,  0x40000000,
                                         0x3fffffff, -0x40000000,
                                         INT32_MAX,  INT32_MAX - 1,
                                         INT32_MIN,  INT32_MIN + 1};
  const std::vector<std::uint32_t> fractions{0, 1, 2, 0x3fffff, 0x400000, 0x400001, 0x7ffffe, 0x7fffff};
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent)
    for (std::uint32_t fraction : fractions)
      for (std::uint32_t sign : {0u, 0x80000000u})
        for (std::int32_t value : values)
          for (std::int32_t zero_point : {0, 1, -1, 32767, -32768})
            check(value, 0, sign | exponent << 23 | fraction, zero_point);
}

TEST_CASE("requant agrees with 128-bit arithmetic on random operands and on ties") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3'000'000; ++i) {
    const auto acc = static_cast<std::int32_t>(random() >> (random() % 32)),
               bias = static_cast<std::int32_t>(random() >> (random() % 32));
    check(acc, bias, static_cast<std::uint32_t>(random()), static_cast<std::int16_t>(random()));
    // Exponents that shift bits out, and a product that ends in a one and zeros there: a tie or close to one.
    const std::uint32_t exponent = 96 + random() % 60;
    const auto even = static_cast<std::int32_t>((2 * (random() % 1024) + 1) << (random() % 21));
    const std::uint32_t fraction = static_cast<std::uint32_t>(random() & 0x7fffff) & (0x7fffffu << (random() % 24));
    check(even + static_cast<std::int32_t>(random() % 3) - 1, 0, exponent << 23 | fraction, 0);
  }
}

}  // namespace dovetail::isa::semantics

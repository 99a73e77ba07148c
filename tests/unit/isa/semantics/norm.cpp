#include "isa/semantics/norm.h"

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "isa/semantics/requant.h"
#include "tests/catch.h"

namespace dovetail::isa::semantics {
namespace {

std::vector<std::uint32_t> operands() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t x = 1; x <= 1 << 16; ++x) all.push_back(x);
  for (int power = 0; power < 32; ++power)
    for (std::uint32_t near = 0; near < 5; ++near) all.push_back((std::uint32_t{1} << power) + near - 2);
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) all.push_back(static_cast<std::uint32_t>(random()) >> random() % 32);
  std::erase(all, 0u);
  return all;
}

// Whether the bits are those of 2^power / x, rounded once: 2 * |mantissa * x - 2^k| <= x, in integers.
bool is_reciprocal(std::uint32_t bits, std::uint32_t x, int power) {
  const int exponent = static_cast<int>(bits >> 23);
  if (exponent < 1 || exponent > 255) return false;
  const int k = power - exponent + 150;
  if (k < 0 || k > 60) return false;
  const std::int64_t product = std::int64_t{(bits & 0x7fffff) | 0x800000} * x, one = std::int64_t{1} << k;
  return 2 * (product > one ? product - one : one - product) <= std::int64_t{x};
}

}  // namespace

TEST_CASE("RECIP is the nearest binary32") {
  for (const std::uint32_t x : operands())
    for (const int power : {0, 8, 28, -60}) {
      const std::uint32_t bits = reciprocal(x, power);
      if (!is_reciprocal(bits, x, power)) FAIL(x << " at 2^" << power << ": " << bits);
    }
  CHECK(reciprocal(1, 0) == std::bit_cast<std::uint32_t>(1.0f));
  CHECK(reciprocal(3, 0) == std::bit_cast<std::uint32_t>(1.0f / 3));
  CHECK(reciprocal(0x80000001, 31) == std::bit_cast<std::uint32_t>(1.0f));  // rounding reaches a power of two
  CHECK(reciprocal(0, 31) == 0);
}

TEST_CASE("RSQRT is the nearest binary32 of the reciprocal of a root of 28 bits") {
  for (const std::uint32_t x : operands()) {
    const std::uint64_t q = root(x), square = std::uint64_t{x} << 24;
    if (q * q > square || (q + 1) * (q + 1) <= square) FAIL("the root of " << x << " is not " << q);
    for (const int power : {0, 20})
      if (!is_reciprocal(root_reciprocal(x, power), static_cast<std::uint32_t>(q), power + 12))
        FAIL(x << " at 2^" << power);
  }
  CHECK(root_reciprocal(1, 0) == std::bit_cast<std::uint32_t>(1.0f));
  CHECK(root_reciprocal(0xffffffff, 16) == std::bit_cast<std::uint32_t>(1.0f));
  CHECK(root_reciprocal(4, 20) == std::bit_cast<std::uint32_t>(0x1p19f));
  CHECK(root_reciprocal(0, 20) == 0);
}

TEST_CASE("scales end where REQUANT's do") {
  CHECK(reciprocal(1, -126) == 0x00800000);
  CHECK(reciprocal(1, -127) == 0);
  CHECK(reciprocal(0xffffffff, -94) == 0x00800000);  // 2^-126 by rounding
  CHECK(reciprocal(0xffffffff, -95) == 0);
  CHECK(reciprocal(1, 128) == 0x7f800000);
  CHECK(reciprocal(1, 129) == 0x7fffffff);
  CHECK(reciprocal(3, 130) == 0x7faaaaab);
  CHECK(reciprocal(3, 131) == 0x7fffffff);
  for (const std::int32_t power : {-32768, 32767})
    for (const std::uint32_t x : {1u, 3u, 0xffffffffu}) {
      CHECK(reciprocal(x, power) == (power < 0 ? 0 : 0x7fffffff));
      CHECK(root_reciprocal(x, power) == (power < 0 ? 0 : 0x7fffffff));
    }
}

TEST_CASE("a softmax of equal scores is their share") {
  for (const std::int32_t count : {1, 3, 10, 32767}) {
    const std::uint32_t scale = reciprocal(static_cast<std::uint32_t>(65535 * count), 8);
    CHECK(requant(65535, 0, scale, 0) == (256 * 2 + count) / (2 * count));
  }
}

TEST_CASE("RMAX, RADD and SQADD") {
  const std::array<std::int32_t, 4> row{INT32_MIN, -5, INT32_MAX, 7};
  CHECK(row_maximum(row) == INT32_MAX);
  CHECK(row_maximum(std::span(row).first(2)) == -5);
  CHECK(row_sum(row) == 1);
  CHECK(row_sum(std::span(row).subspan(2)) == INT32_MIN + 6);
  CHECK(square_add(10, -3) == 19);
  CHECK(square_add(1, 65536) == 1);
  CHECK(square_add(INT32_MAX, 1) == INT32_MIN);
}

}  // namespace dovetail::isa::semantics

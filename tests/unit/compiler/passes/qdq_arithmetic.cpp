// The formulas of docs/reference/quantization.md at their limits.
#include "compiler/passes/qdq/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/catch.h"

namespace dovetail::passes::qdq {

TEST_CASE("quantize: half to even, saturated") {
  CHECK(quantize(2.5f, {1, 0}) == 2);
  CHECK(quantize(3.5f, {1, 0}) == 4);
  CHECK(quantize(-2.5f, {1, 10}) == 8);
  CHECK(quantize(1e30f, {1, 0}) == 127);
  CHECK(quantize(-1e30f, {1e-30f, 0}) == -128);
  CHECK(quantize(100, {1, 100}) == 127);  // steps saturate with their zero point
  CHECK(quantize(-200, {1, 100}) == -100);
}

TEST_CASE("clamp_before: clamping before quantizing equals clamping after it") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Quantization q{0.3f, -7};
  for (const auto& [low, high] :
       {std::pair{0.0f, kInfinity}, {0.0f, 6.0f}, {-kInfinity, 1.05f}, {-2.0f, -3.0f}, {-100.0f, 100.0f}}) {
    const Range range = clamp_before({}, low, high, q);
    for (float real = -60; real < 60; real += 0.01f) {
      const int before = quantize(std::min(std::max(real, low), high), q);
      if (before != std::clamp(quantize(real, q), range.min, range.max))
        FAIL_CHECK(real << " in " << low << ", " << high);
    }
  }
  // Two clips: the outer one clamps the bounds of the inner one.
  CHECK(clamp_before(clamp_before({}, 0, 6, {0.1f, 0}), 1, 3, {0.1f, 0}) == Range{10, 30});
  CHECK(clamp_before(clamp_before({}, 1, 3, {0.1f, 0}), 0, 6, {0.1f, 0}) == Range{10, 30});
  CHECK(clamp_before(clamp_before({}, 0, 1, {0.1f, 0}), 2, 3, {0.1f, 0}) == Range{20, 20});
}

TEST_CASE("requantization_scale: one rounding from binary64") {
  const float x = 0.1f, w = 0.3f, y = 0.7f;
  CHECK(requantization_scale(x, w, y) == static_cast<float>(static_cast<double>(x) * w / y));
}

TEST_CASE("is_product_scale: accepts an exporter's rounding, and no more") {
  const float product = 0.1f * 0.3f;
  CHECK(is_product_scale(product, 0.1f, 0.3f));
  CHECK(is_product_scale(std::nextafter(product, 1.0f), 0.1f, 0.3f));
  CHECK_FALSE(is_product_scale(product * 1.00001f, 0.1f, 0.3f));
}

TEST_CASE("largest_centered") {
  CHECK(largest_centered(-128) == 255);
  CHECK(largest_centered(127) == 255);
  CHECK(largest_centered(0) == 128);
}

TEST_CASE("addition: the largest shift of at most 16 that fits") {
  CHECK(addition({1, 0}, {1, 0}, 1, false)->shift == 16);
  // 255 * 2 * 64 * 2^16 < 2^31 <= 255 * 2 * 65 * 2^16.
  CHECK(addition({64, 0}, {64, 0}, 1, false)->shift == 16);
  CHECK(addition({65, 0}, {65, 0}, 1, false)->shift == 15);
  CHECK(addition({1, 0}, {2, 0}, 1, true)->b_multiplier == -131072.0);
  CHECK_FALSE(addition({0x1p24f, 0}, {1, 0}, 1, false).has_value());
  // Multipliers are binary32, stored in binary64: detects a compiler that keeps the wider intermediate.
  const auto sum = addition({0.03939355f, 0}, {0.10419496f, 0}, 0.050945673f, false);
  CHECK(sum->a_multiplier == static_cast<double>(50675.46875f));
  CHECK(sum->b_multiplier == static_cast<double>(134035.34375f));
}

}  // namespace dovetail::passes::qdq

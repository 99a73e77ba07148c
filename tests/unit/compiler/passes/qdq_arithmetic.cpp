// The formulas of docs/reference/quantization.md at their limits.
#include "compiler/passes/qdq/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

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

TEST_CASE("addition: the largest unit of at least 2^-16 that fits") {
  constexpr float kUnrelated = 0x1.6a09e6p+0f;  // the root of 2
  CHECK(addition({1, 0}, {kUnrelated, 0}, 1, false)->scale == 0x1p-16);
  // 255 * 53 * 2.41... * 2^16 < 2^31 <= 255 * 54 * 2.41... * 2^16.
  CHECK(addition({53, 0}, {53 * kUnrelated, 0}, 1, false)->scale == 0x1p-16);
  CHECK(addition({54, 0}, {54 * kUnrelated, 0}, 1, false)->scale == 0x1p-15);
  CHECK(addition({kUnrelated, 0}, {2, 0}, 1, true)->b_multiplier == -131072.0);
  CHECK_FALSE(addition({0x1p24f, 0}, {1, 0}, 1, false).has_value());
  // Multipliers are binary32, stored in binary64: detects a compiler that keeps the wider intermediate.
  const auto sum = addition({0.03939355f, 0}, {0.10419496f, 0}, 0.050945673f, false);
  CHECK(sum->a_multiplier == static_cast<double>(50675.46875f));
  CHECK(sum->b_multiplier == static_cast<double>(134035.34375f));
}

TEST_CASE("addition: scales in the ratio of integers have the least of them as multipliers") {
  const auto is = [](const std::optional<Addition>& sum, double a, double b, double scale) {
    return sum && sum->a_multiplier == a && sum->b_multiplier == b && sum->scale == scale;
  };
  CHECK(is(addition({1, 0}, {1, 5}, 2, false), 1, 1, 0.5));
  CHECK(is(addition({0.75f, 0}, {1, 0}, 1, true), 3, -4, 0.25));
  CHECK(is(addition({127, 0}, {1, 0}, 1, false), 127, 1, 1));
  CHECK(addition({128, 0}, {1, 0}, 2, false)->scale == 0x1p-16);  // 128 is not in ±127
  CHECK(is(addition({0.3f, 0}, {0.2f, 0}, 0.45f, false), 3, 2,
           static_cast<float>(static_cast<double>(0.3f) / static_cast<double>(0.45f) / 3)));
  // The sum may differ by 2^-12 step: 255 * 2^-20, but not 255 * 2^-19.
  CHECK(is(addition({1, 0}, {1 + 0x1p-20f, 0}, 1, false), 1, 1, 1));
  CHECK(addition({1, 0}, {1 + 0x1p-19f, 0}, 1, false)->scale == 0x1p-16);
}

TEST_CASE("addition: no sum of integers differs from the real one by more than 2^-12 step") {
  std::mt19937 rng(11);
  std::uniform_real_distribution<double> exponent(-3, 2);
  std::uniform_int_distribution<int> factor(1, kMostFactor);
  int whole = 0;
  for (int round = 0; round < 2000; ++round) {
    const int p = factor(rng), q = factor(rng);
    const auto base = static_cast<float>(std::exp2(exponent(rng)) / 127);
    const float a = base * static_cast<float>(p), b = base * static_cast<float>(q),
                y = static_cast<float>(std::max(a, b)) * static_cast<float>(std::exp2(exponent(rng)));
    const auto sum = addition({a, 0}, {b, 0}, y, round % 2 == 0);
    REQUIRE(sum);
    if (sum->scale == 0x1p-16) continue;
    ++whole;
    for (const int x : {-255, -100, 255})
      for (const int z : {-255, 77, 255}) {
        const double real = (static_cast<double>(a) * x + (round % 2 == 0 ? -1 : 1) * static_cast<double>(b) * z) /
                            static_cast<double>(y);
        CHECK(std::abs((sum->a_multiplier * x + sum->b_multiplier * z) * sum->scale - real) <= 0x1p-12);
      }
  }
  CHECK(whole > 1900);
}

TEST_CASE("rescaling: one rounding to the scale of the result") {
  CHECK(rescaling(0.5f, 0.25f)->scale == 2);
  CHECK(rescaling(0.3f, 0.7f)->scale ==
        static_cast<double>(static_cast<float>(static_cast<double>(0.3f) / static_cast<double>(0.7f))));
  CHECK(rescaling(0.5f, 0.25f)->a_multiplier == 1);
  CHECK_FALSE(rescaling(0x1p-100f, 0x1p100f).has_value());
}

}  // namespace dovetail::passes::qdq

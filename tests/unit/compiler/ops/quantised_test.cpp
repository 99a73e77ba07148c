// QuantizeLinear, DequantizeLinear, dovetail.qadd, qclip and recentre.
#include <cmath>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

TEST_CASE("QuantizeLinear rounds half to even after a float32 division, and saturates") {
  const NdArray x = NdArray::from<float>({8}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e9f, -1e9f, 3e38f});
  require_close(Case("QuantizeLinear").input(x).constant(NdArray::scalar(1.0f)).constant(NdArray::scalar(std::int8_t{10})).run1(),
                NdArray::from<std::int8_t>({8}, {10, 12, 12, 10, 8, 127, -128, 127}));
  require_close(Case("QuantizeLinear").input(x).constant(NdArray::scalar(1.0f)).run1(), NdArray::from<std::uint8_t>({8}, {0, 2, 2, 0, 0, 255, 0, 255}));
  // 0.3f / 0.1f is 3.0000002 in binary32 arithmetic's exact quotient, and 2.5 of these steps lies beside a tie.
  std::mt19937 rng(6);
  std::uniform_real_distribution<float> draw(-40, 40);
  NdArray values(DType::float32, {500}), expected(DType::int8, {500});
  for (std::int64_t i = 0; i < 500; ++i) {
    const float value = i % 2 == 0 ? draw(rng) : 0.1f * (static_cast<float>(static_cast<int>(draw(rng))) + 0.5f);
    values.set_double(i, value);
    expected.set_double(i, std::min(127.0f, std::max(-128.0f, std::nearbyintf(value / 0.1f) - 3)));
  }
  require_close(Case("QuantizeLinear").input(values).constant(NdArray::scalar(0.1f)).constant(NdArray::scalar(std::int8_t{-3})).run1(), expected, 0);
}

TEST_CASE("QuantizeLinear and DequantizeLinear per axis") {
  const NdArray x = NdArray::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}), scale = NdArray::from<float>({3}, {1, 2, 0.5f});
  const NdArray zero = NdArray::from<std::uint8_t>({3}, {0, 10, 100});
  const NdArray y = Case("QuantizeLinear").input(x).constant(scale).constant(zero).integer("axis", -1).run1();
  require_close(y, NdArray::from<std::uint8_t>({2, 3}, {1, 11, 106, 4, 12, 112}));
  require_close(Case("DequantizeLinear").input(y).constant(scale).constant(zero).run1(), NdArray::from<float>({2, 3}, {1, 2, 3, 4, 4, 6}));
  require_close(Case("DequantizeLinear").input(NdArray::from<std::int32_t>({1}, {1 << 24})).constant(NdArray::scalar(0.5f)).run1(), NdArray::from<float>({1}, {8388608}));
  CHECK(Case("QuantizeLinear").input(x).constant(scale).constant(zero).integer("axis", 0).refusal() ==
        "error: cannot take QuantizeLinear (node node): scale has 3 elements, axis 0 of [2, 3] has 2. Hint: give one per position of the axis");
}

TEST_CASE("dovetail.qadd follows its definition step by step, sums and differences") {
  std::mt19937 rng(7);
  const NdArray a = random_whole(rng, DType::int8, {4, 5, 6}, -128, 127), b = random_whole(rng, DType::int8, {5, 1}, -128, 127);
  const int shift = 16;
  const double ma = static_cast<float>(0.37 * 65536), mb = static_cast<float>(GENERATE(0.81, -0.4) * 65536);
  NdArray expected(DType::int8, {4, 5, 6});
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double t = std::nearbyint(static_cast<double>(a.as_int64(i) - 4) * ma) + std::nearbyint(static_cast<double>(b.as_int64(i / 6 % 5) + 9) * mb);
    expected.set_double(i, std::min(100.0, std::max(-128.0, std::nearbyint(std::ldexp(t, -shift)) + 2)));
  }
  const auto add = [&] {
    Case test("dovetail.qadd");
    test.input(a).input(b).real("a_multiplier", ma).real("b_multiplier", mb).integer("shift", shift);
    test.integer("a_zero_point", 4).integer("b_zero_point", -9).integer("y_zero_point", 2).integer("y_max", 100);
    return test;
  };
  require_close(add().run1(), expected, 0);
  CHECK_THAT(add().real("a_multiplier", 0.1).refusal(), Catch::Matchers::ContainsSubstring("a_multiplier is 0.1, expected a number other than 0 that float32 holds exactly"));
  CHECK_THAT(add().integer("y_zero_point", 128).refusal(), Catch::Matchers::ContainsSubstring("y_zero_point is 128, the range of int8 is -128 to 127"));
  CHECK_THAT(add().real("a_multiplier", 0x1p24).refusal(), Catch::Matchers::ContainsSubstring(">= 2^31"));
}

TEST_CASE("dovetail.qclip and dovetail.recentre") {
  require_close(Case("dovetail.qclip").input(NdArray::from<std::int8_t>({4}, {-128, -5, 5, 127})).integer("y_min", -5).integer("y_max", 6).run1(),
                NdArray::from<std::int8_t>({4}, {-5, -5, 5, 6}));
  const NdArray bytes = NdArray::from<std::uint8_t>({4}, {0, 1, 128, 255}), centred = NdArray::from<std::int8_t>({4}, {-128, -127, 0, 127});
  require_close(Case("dovetail.recentre").input(bytes).integer("to", 3).run1(), centred);
  require_close(Case("dovetail.recentre").input(centred).integer("to", 2).run1(), bytes);
  CHECK_THAT(Case("dovetail.recentre").input(bytes).integer("to", 2).refusal(), Catch::Matchers::ContainsSubstring("uint8 is recentred to int8 (3)"));
}

}  // namespace
}  // namespace dovetail::ops

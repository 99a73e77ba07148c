// Fixed-point passes compared with REQUANT's semantics, on every accumulator next to a bound between two results:
// between these both are constant, so that they agree everywhere.
#include "compiler/target/accel/programs/fixed_point.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/target/accel/programs/stages.h"
#include "isa/semantics/requant.h"
#include "loops/interpreter.h"
#include "tests/catch.h"

namespace dovetail::accel {

namespace {

// The results of all channels, int32 [channel][value].
NdArray scaled(const Epilogue& epilogue, const NdArray& acc, const std::vector<std::int32_t>& bias,
               const std::vector<float>& scales) {
  const std::int64_t channels = acc.shape()[1];
  tensor::Definition definition("scaled");
  const loops::Buffer a = definition.input("ACC", DType::int32, acc.shape());
  const loops::Buffer k = definition.constant("K", DType::int32, {1, channels, epilogue.words()});
  Stages stages(definition, {{"n", 1}, {"o", channels}, {"y", 1}, {"x", acc.shape()[3]}}, "");
  const loops::Buffer y = stages.epilogue(epilogue, a, k);
  const auto result =
      loops::evaluate(definition.build({y}), std::vector{acc, epilogue_constants(epilogue, 1, channels, bias, scales)});
  REQUIRE(result.ok());
  return result->front();
}

std::int32_t expected(std::int32_t acc, std::int32_t bias, float scale, const OutputRange& range) {
  const std::int32_t y = isa::semantics::requant(acc, bias, std::bit_cast<std::uint32_t>(scale), range.zero_point);
  return std::clamp(y, range.y_min, range.y_max);
}

constexpr std::int64_t kMost = 1 << 29;

// Accumulators around each bound between two results, the same number for all channels.
std::vector<std::int32_t> bounds(float scale, std::int32_t bias, const OutputRange& range, std::int64_t most) {
  const auto within = [&](double at) {
    const auto bound = static_cast<double>(most);
    return static_cast<std::int32_t>(std::clamp(at, -bound - bias, bound - bias));
  };
  std::vector<std::int32_t> values;
  for (std::int32_t y = range.y_min - 1; y <= range.y_max + 1; ++y)
    for (int step = -1; step <= 2; ++step) {
      const double at = std::floor((y - range.zero_point - 0.5) / static_cast<double>(scale)) + step - bias;
      values.push_back(within(at));
    }
  for (const std::int32_t far : {-1, 0, 1, 1 << 20, -(1 << 20), 1 << 28, -(1 << 28)}) values.push_back(within(far));
  return values;
}

FixedPoint check(const std::vector<float>& scales, const OutputRange& range, std::mt19937& random,
                 std::int64_t most = kMost) {
  Epilogue epilogue;
  epilogue.form = Epilogue::Form::fixed_point;
  epilogue.range = range;
  const auto plan = plan_fixed_point(scales, range, most);
  REQUIRE(plan);
  epilogue.fixed_point = *plan;
  const auto channels = static_cast<std::int64_t>(scales.size());
  std::vector<std::int32_t> bias;
  std::vector<std::vector<std::int32_t>> values;
  for (const float scale : scales) {
    bias.push_back(static_cast<std::int32_t>(random() % 200000) - 100000);
    values.push_back(bounds(scale, bias.back(), range, most));
  }
  NdArray acc(DType::int32, {1, channels, 1, static_cast<std::int64_t>(values[0].size())});
  std::int64_t at = 0;
  for (const auto& of_channel : values)
    for (const std::int32_t value : of_channel) acc.set_int64(at++, value);
  const NdArray got = scaled(epilogue, acc, bias, scales);
  at = 0;
  for (std::size_t o = 0; o < scales.size(); ++o)
    for (const std::int32_t value : values[o]) {
      const std::int32_t exact = expected(value, bias[o], scales[o], range);
      if (got.as_int64(at) != exact) {
        CAPTURE(scales[o], bias[o], value, range.zero_point, range.y_min, range.y_max);
        CHECK(got.as_int64(at) == exact);
        return epilogue.fixed_point;
      }
      ++at;
    }
  return epilogue.fixed_point;
}

const std::vector<OutputRange> kRanges{{0, -128, 127}, {-128, -128, 127}, {3, 3, 127}, {-7, -128, 100}, {127, -5, 127}};

}  // namespace

TEST_CASE("fixed point: powers of two need no product") {
  std::mt19937 random(1);
  std::vector<float> scales;
  for (int s = 1; s <= 16; ++s) scales.push_back(std::ldexp(1.0f, -s));
  for (const OutputRange& range : kRanges) {
    const FixedPoint plan = check(scales, range, random);
    CHECK(plan.limbs == 0);
    CHECK(plan.ties);
    CHECK(plan.zero_point == (range.zero_point & 1));
  }
  // 128 * 2^18 would use the range of accumulators, 128 * 2^30 is not an int32: the zero point is added after the
  // shift.
  for (int s = 18; s <= 30; ++s) CHECK(check({std::ldexp(1.0f, -s)}, {-128, -128, 127}, random).zero_point == -128);
  const FixedPoint copy = check({1.0f, 1.0f}, {5, -128, 127}, random);
  CHECK((copy.limbs == 0 && !copy.ties && !copy.shifts && !copy.clamps));
}

TEST_CASE("fixed point: usual scales need two limbs, without ties") {
  std::mt19937 random(2);
  std::vector<float> scales;
  for (int i = 0; i < 40; ++i)
    scales.push_back(std::exp2(-12.0f + 11.0f * static_cast<float>(random() % 100000) / 100000.0f));
  for (const OutputRange& range : kRanges) {
    const FixedPoint plan = check(scales, range, random);
    CHECK(plan.limbs == 2);
    CHECK_FALSE(plan.ties);
    CHECK_FALSE(plan.clamps);
    CHECK(plan.zero_point == 0);
  }
}

TEST_CASE("fixed point: shifts are not constants of the channels where one pair suits all") {
  std::mt19937 random(6);
  const auto scale_from = [&](int exponent) {
    return std::ldexp(1.0f + static_cast<float>(random() % 100000) / 100000.0f, exponent);
  };
  for (const OutputRange& range : kRanges) {
    std::vector<float> scales;
    for (int i = 0; i < 40; ++i) scales.push_back(scale_from(-10 + static_cast<int>(random() % 3)));
    const FixedPoint plan = check(scales, range, random, 1 << 22);
    CHECK(plan.common.has_value());
    CHECK((plan.limbs == 2 && plan.words() == 6));
    // One scale for all channels, of any value.
    for (int exponent = -26; exponent <= 6; ++exponent) {
      const float scale = scale_from(exponent);
      const FixedPoint alone = check({scale, scale, scale}, range, random, 1 << 22);
      CHECK(alone.common.has_value());
      CHECK(alone.words() == 3 + alone.limbs + (alone.limbs > 0 ? 1 : 0) + (alone.ties ? 1 : 0));
    }
    // Powers of two have no products, so this form needs one exponent.
    CHECK(check({0.25f, 0.25f}, range, random).common.has_value());
    CHECK_FALSE(check({0.25f, 0.125f}, range, random).common.has_value());
    // A tie needs its product in one word, together with a scale whose product does not fit.
    CHECK_FALSE(check({0.25f, std::nextafter(0.125f, 0.0f)}, range, random).common.has_value());
    // Ties of several exponents, in one word.
    const FixedPoint ties = check({0.375f, 0.15625f, 0.0546875f}, range, random);
    CHECK((ties.common.has_value() && ties.ties && ties.limbs == 1));
  }
}

TEST_CASE("fixed point: every scale from 2^-14 to 2^7") {
  std::mt19937 random(3);
  std::vector<float> scales{std::ldexp(1.0f, -14),
                            std::nextafter(128.0f, 0.0f),
                            1.0f,
                            2.0f,
                            64.0f,
                            0.5f,
                            1.5f,
                            0.75f,
                            std::nextafter(1.0f, 0.0f),
                            std::nextafter(1.0f, 2.0f),
                            std::ldexp(513.0f, -23),
                            std::ldexp(255.0f, -20),
                            std::nextafter(std::ldexp(1.0f, -13), 0.0f)};
  for (int i = 0; i < 30; ++i)
    scales.push_back(std::exp2(-14.0f + 20.9f * static_cast<float>(random() % 100000) / 100000.0f));
  for (const OutputRange& range : kRanges) {
    const FixedPoint plan = check(scales, range, random);
    CHECK(plan.limbs == 3);
    CHECK((plan.ties && plan.clamps));
    // Each scale separately, with its own passes.
    for (const float scale : scales) check({scale}, range, random);
  }
}

TEST_CASE("fixed point: the smaller the accumulators, the smaller the possible scales") {
  std::mt19937 random(5);
  const auto scale_from = [&](int exponent) {
    return std::ldexp(1.0f + static_cast<float>(random() % 100000) / 100000.0f, exponent);
  };
  for (const OutputRange& range : kRanges) {
    std::vector<float> scales;
    for (int i = 0; i < 20; ++i) scales.push_back(scale_from(-18));
    CHECK(check(scales, range, random).limbs == 4);
    CHECK(check(scales, range, random, 1 << 22).limbs < 4);
    for (int exponent = -26; exponent <= 6; ++exponent) check({scale_from(exponent)}, range, random, 1 << 22);
  }
  // No accumulator's result is in range.
  check({0.125f}, {100, -128, -100}, random, 1000);
}

TEST_CASE("fixed point: scales without a form are refused") {
  const auto takes = [](float scale, std::int64_t bound) {
    return plan_fixed_point(std::array{0.25f, scale}, {}, bound).has_value();
  };
  CHECK(takes(std::nextafter(128.0f, 0.0f), kMost));
  CHECK_FALSE(takes(128.0f, kMost));
  CHECK_FALSE(takes(std::ldexp(1.3f, -22), kMost));
  CHECK(takes(std::ldexp(1.3f, -22), 1 << 22));
  CHECK(takes(std::ldexp(1.0f, -30), kMost));
  for (const float scale : {-0.5f, 0.0f, 1e-44f, std::ldexp(1.0f, -51), std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()})
    CHECK_FALSE(takes(scale, 100));
}

TEST_CASE("fixed point: operands of sums are scaled exactly") {
  std::mt19937 random(4);
  AddSpec spec;
  spec.epilogue.form = Epilogue::Form::fixed_point;
  const isa::HardwareConfig config;
  NdArray a(DType::int32, {1, config.block_out, 1, 256});
  for (std::int64_t i = 0; i < a.count(); ++i) a.set_int64(i, i % 256 - 128);
  std::vector<float> multipliers{1,        -3,         0.5f,   0.75f,  1.5f, 65536,
                                 52428.8f, 12345.678f, 0.013f, -77.7f, 1e6f, 2097151.5f};
  for (int i = 0; i < 60; ++i)
    multipliers.push_back(std::exp2(-3.0f + 22.0f * static_cast<float>(random() % 100000) / 100000.0f));
  for (const float multiplier : multipliers) {
    const auto split = split_multiplier(multiplier);
    if (!split) continue;
    for (const std::int32_t zero_point : {0, -128, 127, 5}) {
      tensor::Definition definition("operand");
      const loops::Buffer x = definition.input("A", DType::int32, a.shape());
      const loops::Buffer k = definition.constant("K", DType::int32, {1, config.block_out, operand_words(spec)});
      Stages stages(definition, {{"n", 1}, {"o", config.block_out}, {"y", 1}, {"x", 256}}, "");
      const loops::Buffer y =
          stages.multiplied(*split, stages.with_constant("center", loops::BinaryOp::add, x, k, 0), k);
      const auto result = loops::evaluate(
          definition.build({y}), std::vector{a, operand_constants(spec, config, zero_point, multiplier, *split)});
      REQUIRE(result.ok());
      std::int64_t different = 0;
      for (std::int64_t i = 0; i < a.count(); ++i)
        different += result->front().as_int64(i) !=
                     isa::semantics::requant(static_cast<std::int32_t>(a.as_int64(i)), -zero_point,
                                             std::bit_cast<std::uint32_t>(multiplier), 0);
      CAPTURE(multiplier, zero_point);
      CHECK(different == 0);
    }
  }
}

}  // namespace dovetail::accel

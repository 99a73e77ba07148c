// QuantizeLinear, DequantizeLinear, dovetail.qadd, qclip and recenter.
#include <cmath>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("QuantizeLinear rounds half to even after a float32 division, and saturates") {
  const NdArray x = NdArray::from<float>({8}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e9f, -1e9f, 3e38f});
  require_close(
      Case("QuantizeLinear").input(x).constant(NdArray::scalar(1.0f)).constant(NdArray::scalar(std::int8_t{10})).run1(),
      NdArray::from<std::int8_t>({8}, {10, 12, 12, 10, 8, 127, -128, 127}));
  require_close(Case("QuantizeLinear").input(x).constant(NdArray::scalar(1.0f)).run1(),
                NdArray::from<std::uint8_t>({8}, {0, 2, 2, 0, 0, 255, 0, 255}));
  // 0.3f / 0.1f is 3.0000002 in binary32 arithmetic's exact quotient, and 2.5 of these steps is next to a tie.
  std::mt19937 rng(6);
  std::uniform_real_distribution<float> draw(-40, 40);
  NdArray values(DType::float32, {500}), expected(DType::int8, {500});
  for (std::int64_t i = 0; i < 500; ++i) {
    const float value = i % 2 == 0 ? draw(rng) : 0.1f * (static_cast<float>(static_cast<int>(draw(rng))) + 0.5f);
    values.set_double(i, value);
    expected.set_double(i, std::min(127.0f, std::max(-128.0f, std::nearbyintf(value / 0.1f) - 3)));
  }
  require_close(Case("QuantizeLinear")
                    .input(values)
                    .constant(NdArray::scalar(0.1f))
                    .constant(NdArray::scalar(std::int8_t{-3}))
                    .run1(),
                expected, 0);
}

TEST_CASE("QuantizeLinear and DequantizeLinear per axis") {
  const NdArray x = NdArray::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}), scale = NdArray::from<float>({3}, {1, 2, 0.5f});
  const NdArray zero = NdArray::from<std::uint8_t>({3}, {0, 10, 100});
  const NdArray y = Case("QuantizeLinear").input(x).constant(scale).constant(zero).integer("axis", -1).run1();
  require_close(y, NdArray::from<std::uint8_t>({2, 3}, {1, 11, 106, 4, 12, 112}));
  require_close(Case("DequantizeLinear").input(y).constant(scale).constant(zero).run1(),
                NdArray::from<float>({2, 3}, {1, 2, 3, 4, 4, 6}));
  require_close(Case("DequantizeLinear")
                    .input(NdArray::from<std::int32_t>({1}, {1 << 24}))
                    .constant(NdArray::scalar(0.5f))
                    .run1(),
                NdArray::from<float>({1}, {8388608}));
  CHECK(Case("QuantizeLinear").input(x).constant(scale).constant(zero).integer("axis", 0).refusal() ==
        "error: cannot accept QuantizeLinear (node node): scale has 3 elements, but axis 0 of [2, 3] has 2. Hint: give "
        "one scale per position of the axis");
}

TEST_CASE("One scale and one zero point apply to the whole tensor, whatever their ranks") {
  const NdArray x = NdArray::from<float>({2, 3}, {1, -2, 3, 4, 5, 600}),
                steps = NdArray::from<std::int8_t>({2, 3}, {5, -1, 9, 11, 13, 127});
  const Shape ranks[] = {{}, {1}, {1, 1}};
  for (const Shape& scale : ranks)
    for (const Shape& zero : ranks)
      for (const bool constant : {true, false}) {
        INFO(to_string(scale) << " " << to_string(zero) << " " << constant);
        const auto with = [&](std::string op, const NdArray& data) {
          Case node(std::move(op));
          node.input(data);
          for (const NdArray& each : {NdArray::from<float>(scale, {0.5f}), NdArray::from<std::int8_t>(zero, {3})})
            constant ? node.constant(each) : node.input(each);
          return node.integer("axis", 7).run1();  // the attribute has no effect
        };
        require_close(with("QuantizeLinear", x), steps, 0);
        require_close(with("DequantizeLinear", steps), NdArray::from<float>({2, 3}, {1, -2, 3, 4, 5, 62}), 0);
      }
  // Several scales need as many zero points.
  CHECK_THAT(Case("QuantizeLinear")
                 .input(x)
                 .constant(NdArray::from<float>({3}, {1, 1, 1}))
                 .constant(NdArray::from<std::int8_t>({}, {3}))
                 .refusal(),
             ContainsSubstring("zero point has shape [], but scale has [3]"));
  // A block of the whole tensor is the tensor; one scale for several blocks is an error.
  CHECK(Case("QuantizeLinear")
            .input(x)
            .constant(NdArray::from<float>({1, 1}, {0.5f}))
            .constant(NdArray::from<std::int8_t>({}, {3}))
            .integer("block_size", 2)
            .refusal()
            .find("scale has shape [1, 1] for blocks of 2 along axis 1 of [2, 3]") != std::string::npos);
}

TEST_CASE("QuantizeLinear and DequantizeLinear per block of an axis, and types of their results") {
  std::mt19937 rng(8);
  const NdArray x = random_whole(rng, DType::float32, {2, 5, 3}, -90, 90),
                zero = random_whole(rng, DType::int8, {2, 3, 3}, -9, 9);
  NdArray scale(DType::float32, {2, 3, 3});  // the last block holds one position
  for (std::int64_t i = 0; i < scale.count(); ++i) scale.set_double(i, i % 3 == 0 ? 0.5 : 2);
  NdArray steps(DType::int8, x.shape()), real(DType::float32, x.shape());
  for_each_index(x.shape(), [&](const Shape& p) {
    const std::int64_t i = flat(x.shape(), p), block = flat(scale.shape(), {p[0], p[1] / 2, p[2]});
    const double step = std::nearbyint(x.as_double(i) / scale.as_double(block)) + zero.as_double(block);
    steps.set_double(i, std::min(127.0, std::max(-128.0, step)));
    real.set_double(i, (steps.as_double(i) - zero.as_double(block)) * scale.as_double(block));
  });
  require_close(Case("QuantizeLinear").input(x).constant(scale).constant(zero).integer("block_size", 2).run1(), steps,
                0);
  require_close(Case("DequantizeLinear").input(steps).constant(scale).constant(zero).integer("block_size", 2).run1(),
                real, 0);
  CHECK_THAT(Case("QuantizeLinear").input(x).constant(scale).constant(zero).integer("block_size", 3).refusal(),
             Catch::Matchers::ContainsSubstring("scale has shape [2, 3, 3] for blocks of 3 along axis 1 of [2, 5, 3]"));
  const auto half = std::int64_t{info(DType::float16).onnx};
  CHECK(Case("DequantizeLinear")
            .input(steps)
            .constant(NdArray::scalar(0.5f))
            .integer("output_dtype", half)
            .run1()
            .dtype() == DType::float16);
}

TEST_CASE("dovetail.qadd follows its definition step by step, for sums and differences") {
  std::mt19937 rng(7);
  const NdArray a = random_whole(rng, DType::int8, {4, 5, 6}, -128, 127),
                b = random_whole(rng, DType::int8, {5, 1}, -128, 127);
  struct Numbers {
    double ma, mb, scale;
  };
  const auto [ma, mb, scale] =
      GENERATE(Numbers{static_cast<float>(0.37 * 65536), static_cast<float>(0.81 * 65536), 0x1p-16},
               Numbers{static_cast<float>(0.37 * 65536), static_cast<float>(-0.4 * 65536), 0x1p-16},
               Numbers{83, -47, static_cast<float>(0.0093)}, Numbers{1, 127, static_cast<float>(0.0061)},
               Numbers{-1.5, 2, static_cast<float>(0.7)});
  NdArray expected(DType::int8, {4, 5, 6});
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double t = std::nearbyint(static_cast<double>(a.as_int64(i) - 4) * ma) +
                     std::nearbyint(static_cast<double>(b.as_int64(i / 6 % 5) + 9) * mb);
    expected.set_double(i, std::min(100.0, std::max(-128.0, std::nearbyint(t * scale) + 2)));
  }
  const auto add = [&, ma = ma, mb = mb, scale = scale] {
    Case test("dovetail.qadd");
    test.input(a).input(b).real("a_multiplier", ma).real("b_multiplier", mb).real("scale", scale);
    test.integer("a_zero_point", 4).integer("b_zero_point", -9).integer("y_zero_point", 2).integer("y_max", 100);
    return test;
  };
  require_close(add().run1(), expected, 0);
  CHECK_THAT(add().real("a_multiplier", 0.1).refusal(),
             Catch::Matchers::ContainsSubstring(
                 "a_multiplier is 0.1, expected a nonzero number that float32 represents exactly"));
  CHECK_THAT(
      add().real("scale", 0.1).refusal(),
      Catch::Matchers::ContainsSubstring("scale is 0.1, expected a nonzero number that float32 represents exactly"));
  CHECK_THAT(add().integer("y_zero_point", 128).refusal(),
             Catch::Matchers::ContainsSubstring("y_zero_point is 128, but the range of int8 is -128 to 127"));
  CHECK_THAT(add().real("a_multiplier", 0x1p24).refusal(), Catch::Matchers::ContainsSubstring(">= 2^31"));
}

TEST_CASE("dovetail.qclip and dovetail.recenter") {
  require_close(Case("dovetail.qclip")
                    .input(NdArray::from<std::int8_t>({4}, {-128, -5, 5, 127}))
                    .integer("y_min", -5)
                    .integer("y_max", 6)
                    .run1(),
                NdArray::from<std::int8_t>({4}, {-5, -5, 5, 6}));
  const NdArray bytes = NdArray::from<std::uint8_t>({4}, {0, 1, 128, 255}),
                centered = NdArray::from<std::int8_t>({4}, {-128, -127, 0, 127});
  require_close(Case("dovetail.recenter").input(bytes).integer("to", 3).run1(), centered);
  require_close(Case("dovetail.recenter").input(centered).integer("to", 2).run1(), bytes);
  CHECK_THAT(Case("dovetail.recenter").input(bytes).integer("to", 2).refusal(),
             Catch::Matchers::ContainsSubstring("uint8 is recentered to int8 (3)"));
}

TEST_CASE("dovetail.qtable looks up steps, in one table or in one per slice") {
  NdArray table(DType::int8, {256}), tables(DType::int8, {2, 256});
  for (std::int64_t i = 0; i < 256; ++i) {
    table.set_int64(i, 127 - i);
    tables.set_int64(i, 5);
    tables.set_int64(256 + i, i - 128);
  }
  const NdArray x = NdArray::from<std::int8_t>({2, 2}, {-128, 127, 0, 3});
  require_close(Case("dovetail.qtable").input(x).constant(table).run1(),
                NdArray::from<std::int8_t>({2, 2}, {127, -128, -1, -4}));
  require_close(Case("dovetail.qtable").input(x).constant(tables).integer("axis", 0).run1(),
                NdArray::from<std::int8_t>({2, 2}, {5, 5, 0, 3}));
  CHECK_THAT(Case("dovetail.qtable").input(x).constant(NdArray(DType::int8, {255})).refusal(),
             Catch::Matchers::ContainsSubstring("the table has shape [255], expected [256]"));
  CHECK_THAT(Case("dovetail.qtable").input(x).constant(table).integer("axis", 1).refusal(),
             Catch::Matchers::ContainsSubstring("the table has shape [256], expected [2, 256]"));
}

TEST_CASE("dovetail.qmul and dovetail.qmatmul follow their definitions") {
  std::mt19937 rng(8);
  const NdArray a = random_whole(rng, DType::int8, {4, 5, 6}, -128, 127),
                b = random_whole(rng, DType::int8, {5, 1}, -128, 127);
  const double scale = static_cast<float>(0.0123);
  NdArray expected(DType::int8, {4, 5, 6});
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double product = static_cast<double>((a.as_int64(i) + 3) * (b.as_int64(i / 6 % 5) - 7));
    expected.set_double(i, std::min(120.0, std::max(-128.0, std::nearbyint(product * scale) + 11)));
  }
  const auto with = [&](Case test) {
    return test.real("scale", scale)
        .integer("a_zero_point", -3)
        .integer("b_zero_point", 7)
        .integer("y_zero_point", 11)
        .integer("y_max", 120);
  };
  require_close(with(Case("dovetail.qmul").input(a).input(b)).run1(), expected, 0);
  CHECK_THAT(
      Case("dovetail.qmul").input(a).input(b).real("scale", 0.1).refusal(),
      Catch::Matchers::ContainsSubstring("scale is 0.1, expected a nonzero number that float32 represents exactly"));

  const NdArray m = random_whole(rng, DType::int8, {6, 3}, -128, 127);
  NdArray product(DType::int8, {4, 5, 3});
  for (std::int64_t row = 0; row < 20; ++row)
    for (std::int64_t n = 0; n < 3; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < 6; ++k)
        sum += static_cast<double>((a.as_int64(row * 6 + k) + 3) * (m.as_int64(k * 3 + n) - 7));
      product.set_double(row * 3 + n, std::min(120.0, std::max(-128.0, std::nearbyint(sum * scale) + 11)));
    }
  require_close(with(Case("dovetail.qmatmul").input(a).input(m)).run1(), product, 0);
  // 33026 is the least number of products of at most 255 * 255 whose sum may overflow.
  CHECK_THAT(Case("dovetail.qmatmul")
                 .input(NdArray(DType::int8, {1, 33026}))
                 .input(NdArray(DType::int8, {33026, 1}))
                 .real("scale", 0.5)
                 .integer("a_zero_point", 127)
                 .integer("b_zero_point", 127)
                 .refusal(),
             Catch::Matchers::ContainsSubstring(
                 "the accumulator may reach 2147515650, but values of int32 are below 2147483648"));
  CHECK(Case("dovetail.qmatmul")
            .input(NdArray(DType::int8, {1, 33025}))
            .input(NdArray(DType::int8, {33025, 1}))
            .real("scale", 0.5)
            .integer("a_zero_point", 127)
            .integer("b_zero_point", 127)
            .run1()
            .count() == 1);
}

// clamp(round_half_even(value * scale) + zero_point): products of 31 and 24 bits are exact in long double.
std::int64_t requantized(std::int64_t value, float scale, std::int64_t zero_point, long double low, long double high) {
  const long double product = std::nearbyint(static_cast<long double>(value) * static_cast<long double>(scale));
  return static_cast<std::int64_t>(std::clamp(product + static_cast<long double>(zero_point), low, high));
}
std::int64_t requantized(std::int64_t value, float scale) {
  return requantized(value, scale, 0, -0x1p31L, 0x1p31L - 1);
}
float quotient(int exponent, std::int64_t divisor) {
  return static_cast<float>(std::ldexp(1.0, exponent) / static_cast<double>(divisor));
}

TEST_CASE("dovetail.qsoftmax follows its definition") {
  std::mt19937 rng(21);
  NdArray table(DType::uint16, {256});
  for (std::int64_t i = 0; i < 256; ++i)
    table.set_int64(i, static_cast<std::int64_t>(65535 * std::exp(-0.05 * static_cast<double>(i))));
  struct Row {
    Shape shape;
    std::int64_t axis, shift;
    float scale;
    bool hides = false;
  };
  for (const Row& row :
       {Row{{3, 40}, -1, 8, 1}, Row{{2, 7, 5}, 1, 12, 3.75f}, Row{{2, 32767}, 1, 4, 0.0625f}, Row{{4, 1}, 1, 0, 0.001f},
        Row{{2, 9, 3}, 0, 62, 100}, Row{{3, 40}, -1, 8, 1, true}, Row{{2, 7, 5}, 1, 12, 3.75f, true}}) {
    INFO(to_string(row.shape));
    const NdArray x = random_whole(rng, DType::int8, row.shape, -128, 127);
    const auto axis = static_cast<std::size_t>(row.axis < 0 ? row.axis + 2 : row.axis);
    // One row of scores for all others; its first column hides all elements of a column.
    NdArray visible = random_whole(rng, DType::boolean, {row.shape.back()}, row.hides ? 0 : 1, 1);
    if (row.hides) visible.set_int64(0, 0);
    NdArray expected(DType::int8, row.shape);
    for_each_index(row.shape, [&](const Shape& place) {
      std::int64_t largest = -129, sum = 0;
      Shape other = place;
      const auto each = [&](const auto& visit) {
        for (other[axis] = 0; other[axis] < row.shape[axis]; ++other[axis])
          visit(x.as_int64(flat(row.shape, other)), visible.as_int64(other.back()) != 0);
      };
      const auto entry = [&](std::int64_t value, bool is_visible) {
        if (largest == -129) return table.as_int64(0);
        return is_visible ? table.as_int64(largest - value) : 0;
      };
      if (row.shape[axis] > 1000 && place[axis] > 20) return;  // compared at 21 places of a long row
      each([&](std::int64_t value, bool is_visible) { largest = is_visible ? std::max(largest, value) : largest; });
      each([&](std::int64_t value, bool is_visible) { sum += entry(value, is_visible); });
      const std::int64_t own = entry(x.as_int64(flat(row.shape, place)), visible.as_int64(place.back()) != 0);
      const std::int64_t divisor = std::max<std::int64_t>(requantized(sum, row.scale), 1);
      expected.set_int64(flat(row.shape, place),
                         requantized(own, quotient(static_cast<int>(row.shift), divisor), -120, -128, 100));
    });
    Case test = Case("dovetail.qsoftmax").input(x).constant(table);
    if (row.hides) test.input(visible);
    NdArray actual = test.integer("axis", row.axis)
                         .integer("shift", row.shift)
                         .real("scale", row.scale)
                         .integer("y_zero_point", -120)
                         .integer("y_max", 100)
                         .run1();
    for_each_index(row.shape, [&](const Shape& place) {
      if (row.shape[axis] > 1000 && place[axis] > 20) actual.set_int64(flat(row.shape, place), 0);
    });
    require_close(actual, expected, 0);
  }
  const auto refused = [&](const Shape& shape, std::int64_t entries, std::int64_t shift) {
    return Case("dovetail.qsoftmax")
        .input(NdArray(DType::int8, shape))
        .constant(NdArray(DType::uint16, {entries}))
        .real("scale", 1)
        .integer("shift", shift)
        .refusal();
  };
  CHECK_THAT(refused({1, 32768}, 256, 0), ContainsSubstring("axis 1 has 32768 elements, but at most 32767"));
  CHECK_THAT(refused({1, 4}, 255, 0), ContainsSubstring("the table has shape [255], expected [256]"));
  CHECK_THAT(refused({1, 4}, 256, 63), ContainsSubstring("shift is 63, expected 0 to 62"));
}

TEST_CASE("dovetail.qnormalize follows its definition") {
  std::mt19937 rng(22);
  struct Row {
    Shape shape;
    std::int64_t axis, parts, epsilon, bits, shift, center;
    int low = -128, high = 127;
  };
  const Row rows[] = {{{5, 96}, -1, 256, 100, 20, 16, 1},
                      {{5, 96}, -1, 256, 100, 20, 16, 0},
                      {{3, 4, 20}, 1, 16, 0, 20, 10, 1},
                      {{3, 6}, 1, 1024, 7, 17, 16, 1},
                      {{2, 33025}, 1, 1, 0, 14, 12, 1},
                      {{2, 33025}, 1, 1, 5000, 14, 12, 0},
                      {{4, 50}, 1, 128, 0, 20, 16, 1, 60, 61},
                      {{4, 50}, 1, 128, 0, 20, 16, 1, 127, 127},
                      {{7, 1}, 1, 1, 3, 20, 16, 1},
                      {{7, 1}, 1, 1, 0, 20, 16, 0}};
  for (const Row& row : rows) {
    INFO(to_string(row.shape) << " center " << row.center << " low " << row.low);
    const std::int64_t n = row.shape.back() * (row.axis == 1 && row.shape.size() == 3 ? row.shape[1] : 1);
    const NdArray x = random_whole(rng, DType::int8, row.shape, row.low, row.high);
    NdArray scale(DType::float32, {row.shape.back()});
    std::uniform_real_distribution<float> draw(-0.4f, 0.4f);
    for (float& value : scale.data<float>()) value = draw(rng);
    const NdArray bias = random_whole(rng, DType::int32, {row.shape.back()}, -500000, 500000);
    NdArray expected(DType::int8, row.shape);
    for (std::int64_t begin = 0; begin < x.count(); begin += n) {
      const auto step = [&](std::int64_t i) { return x.as_int64(begin + i) - 5; };
      std::int64_t sum = 0, squares = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += step(i);
      const std::int64_t mean = row.center ? requantized(sum, static_cast<float>(1.0 / static_cast<double>(n))) : 0;
      const std::int64_t rest = row.center ? sum - n * mean : 0;
      for (std::int64_t i = 0; i < n; ++i) squares += (step(i) - mean) * (step(i) - mean);
      std::int64_t variance = row.parts * squares + row.epsilon;
      variance -= requantized(rest * rest, static_cast<float>(static_cast<double>(row.parts) / static_cast<double>(n)));
      REQUIRE(variance >= 0);
      auto root = static_cast<std::int64_t>(std::sqrt(static_cast<long double>(variance << 24)));
      while (root * root > variance << 24) --root;
      while ((root + 1) * (root + 1) <= variance << 24) ++root;
      const float factor = quotient(12 + static_cast<int>(row.bits), std::max<std::int64_t>(root, 1));
      for (std::int64_t i = 0; i < n; ++i) {
        const auto column = i % row.shape.back();
        const std::int64_t z = requantized(n * (step(i) - mean) - rest, factor);
        const std::int64_t w = requantized(z, static_cast<float>(scale.as_double(column)));
        const float last = std::ldexp(1.0f, -static_cast<int>(row.shift));
        expected.set_int64(begin + i, requantized(w + bias.as_int64(column), last, 9, -100, 127));
      }
    }
    require_close(Case("dovetail.qnormalize")
                      .input(x)
                      .constant(scale)
                      .constant(bias)
                      .integer("axis", row.axis)
                      .integer("parts", row.parts)
                      .integer("epsilon", row.epsilon)
                      .integer("bits", row.bits)
                      .integer("shift", row.shift)
                      .integer("center", row.center)
                      .integer("x_zero_point", 5)
                      .integer("y_zero_point", 9)
                      .integer("y_min", -100)
                      .run1(),
                  expected, 0);
  }
  const auto refused = [&](const Shape& shape, std::int64_t parts, std::int64_t epsilon, std::int64_t bits) {
    return Case("dovetail.qnormalize")
        .input(NdArray(DType::int8, shape))
        .constant(NdArray::scalar(1.0f))
        .constant(NdArray::scalar(std::int32_t{0}))
        .integer("parts", parts)
        .integer("epsilon", epsilon)
        .integer("bits", bits)
        .integer("shift", 16)
        .integer("center", 1)
        .refusal();
  };
  CHECK_THAT(refused({33026}, 1, 0, 20), ContainsSubstring("1 parts of 33026 squares of 255"));
  CHECK_THAT(refused({64}, 1024, 0, 20), ContainsSubstring("do not fit in int32"));
  CHECK_THAT(refused({64}, 1, std::int64_t{1} << 31, 20), ContainsSubstring("an epsilon of 2147483648"));
  CHECK_THAT(refused({64}, 0, 0, 20), ContainsSubstring("0 parts"));
  CHECK_THAT(refused({64}, 1, 0, 21), ContainsSubstring("bits is 21, expected 0 to 20"));
}

TEST_CASE("A zero point has the type of its tensor") {
  const NdArray x = NdArray::from<std::uint8_t>({1, 1, 1, 2}, {1, 2}), zero = NdArray::scalar(std::int8_t{1});
  for (const std::string op : {"ConvInteger", "MatMulInteger"}) {
    INFO(op);
    CHECK_THAT(Case(op).input(x).input(x).constant(zero).refusal(),
               ContainsSubstring("zero_point") && ContainsSubstring("int8"));
    CHECK_THAT(Case(op).input(x).input(x).omitted().constant(zero).refusal(), ContainsSubstring("zero_point"));
  }
}

TEST_CASE("ConvInteger and MatMulInteger accept zero points of tensors and of slices") {
  const NdArray x = NdArray::from<std::uint8_t>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}),
                w = NdArray::from<std::uint8_t>({1, 1, 2, 2}, {1, 1, 1, 1});
  const NdArray zero = NdArray::scalar(std::uint8_t{1});
  require_close(Case("ConvInteger").input(x).input(w).input(zero).run1(),
                NdArray::from<std::int32_t>({1, 1, 2, 2}, {12, 16, 24, 28}));
  // Padding equals the zero point: it adds nothing.
  require_close(Case("ConvInteger").input(x).input(w).constant(zero).ints("pads", {1, 1, 1, 1}).run1(),
                NdArray::from<std::int32_t>({1, 1, 4, 4}, {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}));
  const NdArray two = NdArray::from<std::int8_t>({2, 1, 1, 1}, {3, 3}),
                zeros = NdArray::from<std::int8_t>({2}, {1, -1});
  require_close(Case("ConvInteger")
                    .input(NdArray::from<std::int8_t>({1, 1, 1, 2}, {10, -10}))
                    .input(two)
                    .omitted()
                    .constant(zeros)
                    .run1(),
                NdArray::from<std::int32_t>({1, 2, 1, 2}, {20, -20, 40, -40}));
  const NdArray a = NdArray::from<std::int8_t>({2, 1}, {10, 20}), b = NdArray::from<std::int8_t>({1, 3}, {1, 2, 3});
  require_close(Case("MatMulInteger")
                    .input(a)
                    .input(b)
                    .constant(NdArray::from<std::int8_t>({2}, {0, 10}))
                    .constant(NdArray::from<std::int8_t>({3}, {0, 0, 1}))
                    .run1(),
                NdArray::from<std::int32_t>({2, 3}, {10, 20, 20, 10, 20, 20}));
  CHECK_THAT(Case("MatMulInteger").input(a).input(b).constant(NdArray(DType::int8, {3})).refusal(),
             Catch::Matchers::ContainsSubstring("a_zero_point has shape [3], expected [2]"));
}

TEST_CASE("DynamicQuantizeLinear uses the range of its tensor, including 0") {
  const auto run = [](const std::vector<float>& values) {
    return Case("DynamicQuantizeLinear", 3)
        .input(NdArray::from<float>({static_cast<std::int64_t>(values.size())}, values))
        .run();
  };
  const auto mixed = run({0, 2, -3, -2.5f, 1.34f, 0.5f});  // the operator reference's example
  require_close(mixed[0], NdArray::from<std::uint8_t>({6}, {153, 255, 0, 26, 221, 179}));
  require_close(mixed[1], NdArray::scalar(0.0196078438f), 1e-7);
  require_close(mixed[2], NdArray::scalar(std::uint8_t{153}));
  const auto positive = run({1, 2.1f, 1.3f, 2.5f, 3.34f, 4});
  require_close(positive[0], NdArray::from<std::uint8_t>({6}, {64, 134, 83, 159, 213, 255}));
  require_close(positive[2], NdArray::scalar(std::uint8_t{0}));
  const auto zeros = run({0, 0});
  require_close(zeros[0], NdArray::from<std::uint8_t>({2}, {0, 0}));
  require_close(zeros[1], NdArray::scalar(1.0f));
}

}  // namespace
}  // namespace dovetail::ops

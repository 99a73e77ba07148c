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
        "error: cannot take QuantizeLinear (node node): scale has 3 elements, axis 0 of [2, 3] has 2. Hint: give one "
        "per position of the axis");
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
             ContainsSubstring("zero point has shape [], scale has [3]"));
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
  const int shift = 16;
  const double ma = static_cast<float>(0.37 * 65536), mb = static_cast<float>(GENERATE(0.81, -0.4) * 65536);
  NdArray expected(DType::int8, {4, 5, 6});
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double t = std::nearbyint(static_cast<double>(a.as_int64(i) - 4) * ma) +
                     std::nearbyint(static_cast<double>(b.as_int64(i / 6 % 5) + 9) * mb);
    expected.set_double(i, std::min(100.0, std::max(-128.0, std::nearbyint(std::ldexp(t, -shift)) + 2)));
  }
  const auto add = [&] {
    Case test("dovetail.qadd");
    test.input(a).input(b).real("a_multiplier", ma).real("b_multiplier", mb).integer("shift", shift);
    test.integer("a_zero_point", 4).integer("b_zero_point", -9).integer("y_zero_point", 2).integer("y_max", 100);
    return test;
  };
  require_close(add().run1(), expected, 0);
  CHECK_THAT(add().real("a_multiplier", 0.1).refusal(),
             Catch::Matchers::ContainsSubstring(
                 "a_multiplier is 0.1, expected a nonzero number that float32 represents exactly"));
  CHECK_THAT(add().integer("y_zero_point", 128).refusal(),
             Catch::Matchers::ContainsSubstring("y_zero_point is 128, the range of int8 is -128 to 127"));
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
  CHECK_THAT(
      Case("dovetail.qmatmul")
          .input(NdArray(DType::int8, {1, 33026}))
          .input(NdArray(DType::int8, {33026, 1}))
          .real("scale", 0.5)
          .integer("a_zero_point", 127)
          .integer("b_zero_point", 127)
          .refusal(),
      Catch::Matchers::ContainsSubstring("the accumulator may reach 2147515650, int32 holds less than 2147483648"));
  CHECK(Case("dovetail.qmatmul")
            .input(NdArray(DType::int8, {1, 33025}))
            .input(NdArray(DType::int8, {33025, 1}))
            .real("scale", 0.5)
            .integer("a_zero_point", 127)
            .integer("b_zero_point", 127)
            .run1()
            .count() == 1);
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

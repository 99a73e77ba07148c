// Activations, normalizations, products and pools of the domain com.microsoft, compared with their definitions.
#include "tests/unit/compiler/import/contrib.h"

using namespace dovetail::test::contrib;

namespace dovetail {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("com.microsoft: activations with their bias") {
  std::mt19937 rng(1);
  const NdArray x = drawn_reals(rng, {2, 3, 4}, 3), bias = drawn_reals(rng, {4});
  const Reals sum = added(Reals(x), Reals(bias));
  check_close(ContribNode{"BiasGelu"}.input("x", x).constant("b", bias).run1(), map(sum, gelu), 1e-5);
  check_close(ContribNode{"Gelu"}.input("x", x).run1(), map(Reals(x), gelu), 1e-5);
  check_close(ContribNode{"FastGelu"}.input("x", x).constant("b", bias).run1(), map(sum, gelu_by_tanh), 1e-5);
  check_close(ContribNode{"FastGelu"}.input("x", x).run1(), map(Reals(x), gelu_by_tanh), 1e-5);
  check_close(ContribNode{"QuickGelu"}.input("x", x).run1(),
              map(Reals(x), [](double v) { return quick_gelu(v, 1.702); }), 1e-5);
  check_close(ContribNode{"QuickGelu"}.input("x", x).with("alpha", 0.5f).run1(),
              map(Reals(x), [](double v) { return quick_gelu(v, 0.5); }), 1e-5);
  CHECK_THAT(ContribNode{"QuickGelu"}.input("x", x).with("beta", 0.5f).refusal(),
             ContainsSubstring("attribute beta is not supported"));
  CHECK_THAT(ContribNode{"BiasGelu"}.input("x", x).refusal(), ContainsSubstring("input 1 is missing"));
}

TEST_CASE("com.microsoft: normalizations of a sum") {
  std::mt19937 rng(2);
  const NdArray x = drawn_reals(rng, {2, 3, 4}), skip = drawn_reals(rng, {2, 3, 4}), row = drawn_reals(rng, {1, 3, 4}),
                gamma = drawn_reals(rng, {4}), beta = drawn_reals(rng, {4}), bias = drawn_reals(rng, {4});
  const Reals whole = added(added(Reals(x), Reals(skip)), Reals(bias));
  for (const bool centered : {true, false}) {
    ContribNode node{centered ? "SkipLayerNormalization" : "SkipSimplifiedLayerNormalization"};
    node.outputs = {"y", "", "", "sum"};
    node.input("x", x).input("skip", skip).constant("gamma", gamma);
    if (centered) node.constant("beta", beta);
    const auto result = node.constant("bias", bias).with("epsilon", 0.01f).run();
    check_close(result.at("y"), normalized(whole, Reals(gamma), centered ? Reals(beta) : Reals(), 0.01, centered),
                1e-5);
    check_close(result.at("sum"), whole, 1e-6);
  }
  // One skip for all images, without beta; the default epsilon is small.
  check_close(ContribNode{"SkipLayerNormalization"}.input("x", x).input("skip", row).constant("gamma", gamma).run1(),
              normalized(added(Reals(x), Reals(row)), Reals(gamma), Reals(), 1e-12, true), 1e-5);
  for (const char* domain : {"", "com.microsoft"})
    check_close(ContribNode{"SimplifiedLayerNormalization", domain}
                    .input("x", x)
                    .constant("gamma", gamma)
                    .with("axis", -1)
                    .with("epsilon", 0.01f)
                    .run1(),
                normalized(Reals(x), Reals(gamma), Reals(), 0.01, false), 1e-5);
  ContribNode statistics{"SkipLayerNormalization"};
  statistics.outputs = {"y", "mean"};
  CHECK_THAT(statistics.input("x", x).input("skip", skip).constant("gamma", gamma).refusal(),
             ContainsSubstring("output 1 (statistics of the normalization) is used, but not supported"));
}

TEST_CASE("com.microsoft: EmbedLayerNormalization adds rows of its tables") {
  std::mt19937 rng(3);
  const NdArray ids = NdArray::from<std::int32_t>({2, 3}, {4, 0, 2, 1, 1, 3}),
                segments = NdArray::from<std::int32_t>({2, 3}, {0, 1, 1, 0, 0, 1}),
                mask = NdArray::from<std::int32_t>({2, 3}, {1, 1, 0, 1, 0, 0}),
                positions = NdArray::from<std::int32_t>({2, 3}, {2, 1, 0, 4, 3, 3});
  const NdArray words = drawn_reals(rng, {5, 4}), places = drawn_reals(rng, {6, 4}), kinds = drawn_reals(rng, {2, 4}),
                gamma = drawn_reals(rng, {4}), beta = drawn_reals(rng, {4});
  for (const bool full : {true, false}) {
    Reals sum(Shape{2, 3, 4});
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t c = 0; c < 4; ++c)
        sum[i * 4 + c] = words.as_double(ids.as_int64(i) * 4 + c) +
                         places.as_double((full ? positions.as_int64(i) : i % 3) * 4 + c) +
                         (full ? kinds.as_double(segments.as_int64(i) * 4 + c) : 0);
    ContribNode node{"EmbedLayerNormalization"};
    node.outputs = {"y", "mask_index", "sum"};
    node.input("ids", ids);
    full ? node.input("segments", segments) : node.omitted();
    node.constant("words", words).constant("places", places);
    full ? node.constant("kinds", kinds) : node.omitted();
    node.constant("gamma", gamma).constant("beta", beta);
    if (full) node.input("mask", mask).input("positions", positions);
    const auto result = node.run();
    check_close(result.at("y"), normalized(sum, Reals(gamma), Reals(beta), 1e-12, true), 1e-5);
    check_close(result.at("sum"), sum, 1e-6);
    CHECK(result.at("mask_index") == NdArray::from<std::int32_t>({2}, {full ? 2 : 0, full ? 1 : 0}));
  }
}

TEST_CASE("com.microsoft: FusedMatMul transposes matrices and batches, and scales") {
  std::mt19937 rng(4);
  const std::int64_t b = 2, m = 3, k = 4, n = 5;
  for (int form = 0; form < 16; ++form) {
    INFO(form);
    // Stores an operand of logical shape [batch, rows, columns] as the attributes require.
    const auto stored = [&](const Reals& logical, bool transposed, bool batch) {
      const std::int64_t rows = logical.shape[1], columns = logical.shape[2];
      const std::int64_t outer = transposed ? columns : rows, inner = transposed ? rows : columns;
      NdArray array(DType::float32, batch ? Shape{outer, b, inner} : Shape{b, outer, inner});
      for (std::int64_t i = 0; i < b; ++i)
        for (std::int64_t r = 0; r < outer; ++r)
          for (std::int64_t c = 0; c < inner; ++c)
            array.set_double(batch ? (r * b + i) * inner + c : (i * outer + r) * inner + c,
                             transposed ? logical.at({i, c, r}) : logical.at({i, r, c}));
      return array;
    };
    const Reals left(drawn_reals(rng, {b, m, k})), right(drawn_reals(rng, {b, k, n}));
    Reals expected(Shape{b, m, n});
    for (std::int64_t i = 0; i < expected.count(); ++i)
      for (std::int64_t j = 0; j < k; ++j)
        expected[i] += 0.5 * left.at({i / (m * n), i / n % m, j}) * right.at({i / (m * n), j, i % n});
    const bool ta = (form & 1) != 0, tb = (form & 2) != 0, ba = (form & 4) != 0, bb = (form & 8) != 0;
    check_close(ContribNode{"FusedMatMul"}
                    .input("a", stored(left, ta, ba))
                    .input("b", stored(right, tb, bb))
                    .with("alpha", 0.5f)
                    .with("transA", ta ? 1 : 0)
                    .with("transB", tb ? 1 : 0)
                    .with("transBatchA", ba ? 1 : 0)
                    .with("transBatchB", bb ? 1 : 0)
                    .run1(),
                expected, 1e-6);
  }
}

TEST_CASE("com.microsoft: FusedGemm and FusedConv end with their activation") {
  std::mt19937 rng(5);
  const NdArray a = drawn_reals(rng, {3, 4}), b = drawn_reals(rng, {5, 4}), c = drawn_reals(rng, {5});
  Reals gemm = product(Reals(a), turned(Reals(b)));
  for (std::int64_t i = 0; i < gemm.count(); ++i) gemm[i] = 0.5 * gemm[i] + 2 * c.as_double(i % 5);
  const auto node = [&](const char* activation) {
    ContribNode made{"FusedGemm"};
    made.input("a", a).constant("b", b).constant("c", c).with("transB", 1).with("alpha", 0.5f).with("beta", 2.0f);
    if (*activation != '\0') made.with("activation", activation);
    return made;
  };
  check_close(node("").run1(), gemm, 1e-5);
  check_close(node("Relu").run1(), map(gemm, [](double v) { return std::max(v, 0.0); }), 1e-5);
  check_close(node("LeakyRelu").with("activation_alpha", 0.25f).run1(),
              map(gemm, [](double v) { return v < 0 ? v / 4 : v; }), 1e-5);
  check_close(node("HardSigmoid").with("activation_alpha", 0.25f).with("activation_beta", 0.5f).run1(),
              map(gemm, [](double v) { return std::min(std::max(v / 4 + 0.5, 0.0), 1.0); }), 1e-5);
  CHECK_THAT(node("Sine").refusal(), ContainsSubstring("activation Sine is unknown"));

  const NdArray x = drawn_reals(rng, {1, 2, 4, 4}), w = drawn_reals(rng, {3, 2, 3, 3}), bias = drawn_reals(rng, {3}),
                z = drawn_reals(rng, {1, 3, 2, 2});
  for (const bool adds : {false, true}) {
    Reals conv(Shape{1, 3, 2, 2});
    for (std::int64_t i = 0; i < 12; ++i) {
      conv[i] = bias.as_double(i / 4) + (adds ? z.as_double(i) : 0);
      for (std::int64_t j = 0; j < 18; ++j)
        conv[i] += w.as_double(i / 4 * 18 + j) * x.as_double(j / 9 * 16 + (i / 2 % 2 + j / 3 % 3) * 4 + i % 2 + j % 3);
    }
    ContribNode fused{"FusedConv"};
    fused.input("x", x).constant("w", w).constant("b", bias);
    if (adds) fused.input("z", z);
    fused.with("kernel_shape", std::vector<std::int64_t>{3, 3});
    ContribNode clipped = fused;
    check_close(fused.with("activation", "Tanh").run1(), map(conv, [](double v) { return std::tanh(v); }), 1e-5);
    check_close(clipped.with("activation", "Clip").with("activation_params", std::vector<float>{-0.5f, 0.25f}).run1(),
                map(conv, [](double v) { return std::min(std::max(v, -0.5), 0.25); }), 1e-5);
  }
}

TEST_CASE("com.microsoft: Inverse times the matrix is the identity") {
  std::mt19937 rng(7);
  for (const std::int64_t n : {1, 2, 3, 5}) {
    const NdArray x = drawn_reals(rng, {2, n, n});
    const NdArray y = ContribNode{"Inverse"}.input("x", x).run1();
    REQUIRE(y.shape() == x.shape());
    for (std::int64_t i = 0; i < 2 * n * n; ++i) {
      const std::int64_t matrix = i / (n * n), r = i / n % n, c = i % n;
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j)
        sum += x.as_double((matrix * n + r) * n + j) * y.as_double((matrix * n + j) * n + c);
      CHECK(std::abs(sum - (r == c ? 1 : 0)) < 1e-3);
    }
  }
  CHECK_THAT(ContribNode{"Inverse"}.input("x", NdArray(DType::float32, {9, 9})).refusal(),
             ContainsSubstring("square matrices of up to 8 rows"));
}

TEST_CASE("com.microsoft: images with the channels last") {
  std::mt19937 rng(8);
  for (const DType dtype : {DType::uint8, DType::int8}) {
    const NdArray x =
        drawn_integers(rng, dtype, {1, 4, 3, 2}, dtype == DType::uint8 ? 0 : -128, dtype == DType::uint8 ? 255 : 127);
    Reals expected(Shape{1, 3, 1, 2});
    for (std::int64_t i = 0; i < 6; ++i) {
      expected[i] = -1e9;
      for (std::int64_t j = 0; j < 6; ++j)
        expected[i] = std::max(expected[i], x.as_double(((i / 2 + j / 3) * 3 + j % 3) * 2 + i % 2));
    }
    const NdArray y =
        ContribNode{"NhwcMaxPool"}.input("x", x).with("kernel_shape", std::vector<std::int64_t>{2, 3}).run1();
    REQUIRE(y.dtype() == dtype);
    check_close(y, expected, 0);
  }
}

}  // namespace
}  // namespace dovetail

// Unary, binary and variadic operators, Cast, Where and Clip.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

TEST_CASE("Unary operators equal the C library") {
  const struct {
    const char* op;
    std::function<double(double)> expected;
    bool unit_domain = false;  // 0 < x < 1
  } rows[] = {
      {"Abs", [](double x) { return std::abs(x); }},
      {"Acos", [](double x) { return std::acos(x); }, true},
      {"Acosh", [](double x) { return x >= 1 ? std::acosh(x) : NAN; }},
      {"Asin", [](double x) { return std::asin(x); }, true},
      {"Asinh", [](double x) { return std::asinh(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Atanh", [](double x) { return std::atanh(x); }, true},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Celu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Cosh", [](double x) { return std::cosh(x); }},
      {"Dropout", [](double x) { return x; }},
      {"Elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"HardSigmoid", [](double x) { return std::max(0.0, std::min(1.0, 0.2 * x + 0.5)); }},
      {"HardSwish", [](double x) { return x * std::max(0.0, std::min(1.0, x / 6 + 0.5)); }},
      {"Identity", [](double x) { return x; }},
      {"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }},
      {"Log", [](double x) { return std::log(x); }, true},
      {"Mish", [](double x) { return x * std::tanh(softplus(x)); }},
      {"Neg", [](double x) { return -x; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Selu", [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
      {"Shrink", [](double x) { return x < -0.5 || x > 0.5 ? x : 0.0; }},
      {"Sigmoid", sigmoid},
      {"Sign", [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sinh", [](double x) { return std::sinh(x); }},
      {"Softplus", softplus},
      {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }, true},
      {"Swish", [](double x) { return x * sigmoid(x); }},
      {"Tan", [](double x) { return std::tan(x); }, true},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"ThresholdedRelu", [](double x) { return x > 1 ? x : 0.0; }},
  };
  const NdArray wide = NdArray::from<float>({3, 3}, {-7.25f, -2.5f, -0.5f, -0.1f, 0.3f, 0.5f, 1.5f, 2.5f, 8.0f});
  const NdArray unit = NdArray::from<float>({3}, {0.05f, 0.5f, 0.95f});
  for (const auto& row : rows) {
    INFO(row.op);
    const NdArray& x = row.unit_domain ? unit : wide;
    NdArray expected(DType::float32, x.shape());
    for (std::int64_t i = 0; i < x.count(); ++i) expected.set_double(i, row.expected(x.as_double(i)));
    require_close(Case(row.op).input(x).run1(), expected, 2e-6);
  }
}

TEST_CASE("Unary operators: attributes, extremes and other types") {
  const NdArray x = NdArray::from<float>({3}, {-2, 0.5f, 3});
  require_close(Case("LeakyRelu").input(x).real("alpha", 0.5).run1(), NdArray::from<float>({3}, {-1, 0.5f, 3}));
  require_close(Case("Shrink").input(x).real("lambd", 1).real("bias", 0.25).run1(),
                NdArray::from<float>({3}, {-1.75f, 0, 2.75f}));
  require_close(Case("Gelu").input(x).text("approximate", "tanh").run1(),
                NdArray::from<float>({3}, {-0.0454023f, 0.345714f, 2.9963627f}));
  const NdArray huge = NdArray::from<float>({2}, {-200, 200});
  require_close(Case("Sigmoid").input(huge).run1(), NdArray::from<float>({2}, {0, 1}));
  require_close(Case("Softplus").input(huge).run1(), NdArray::from<float>({2}, {0, 200}));
  const NdArray infinite = NdArray::from<float>({3}, {-kInf, 1, kInf});
  require_close(Case("IsInf").input(infinite).run1(), NdArray::from<bool>({3}, {true, false, true}));
  require_close(Case("IsInf").input(infinite).integer("detect_negative", 0).run1(),
                NdArray::from<bool>({3}, {false, false, true}));
  require_close(Case("IsInf").input(infinite).integer("detect_positive", 0).run1(),
                NdArray::from<bool>({3}, {true, false, false}));
  require_close(Case("IsNaN").input(NdArray::from<float>({2}, {NAN, 1})).run1(),
                NdArray::from<bool>({2}, {true, false}));
  require_close(Case("Not").input(NdArray::from<bool>({2}, {true, false})).run1(),
                NdArray::from<bool>({2}, {false, true}));
  require_close(Case("BitwiseNot").input(NdArray::from<std::uint8_t>({2}, {0, 0xF0})).run1(),
                NdArray::from<std::uint8_t>({2}, {0xFF, 0x0F}));
  require_close(Case("Abs").input(NdArray::from<std::uint8_t>({2}, {3, 200})).run1(),
                NdArray::from<std::uint8_t>({2}, {3, 200}));
  require_close(Case("Relu").input(NdArray::from<std::int8_t>({2}, {-3, 100})).run1(),
                NdArray::from<std::int8_t>({2}, {0, 100}));
  CHECK(Case("Exp").input(NdArray(DType::int8, {1})).refusal() ==
        "error: cannot accept Exp (node node): input 0 (X) has type int8, but must be one of float16, bfloat16, "
        "float32, float64. Hint: insert a Cast before the node");
  CHECK(Case("Frobnicate")
            .input(x)
            .refusal()
            .find("error: cannot accept Frobnicate (node node): the operator is not one of the ") == 0);
}

TEST_CASE("Binary operators broadcast both ways") {
  const NdArray a = NdArray::from<float>({2, 1, 2}, {1, 2, 3, 4}), b = NdArray::from<float>({3, 1}, {10, 20, 30});
  require_close(Case("Add").input(a).input(b).run1(),
                NdArray::from<float>({2, 3, 2}, {11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34}));
  require_close(Case("Sub").input(a).input(NdArray::scalar(1.0f)).run1(),
                NdArray::from<float>({2, 1, 2}, {0, 1, 2, 3}));
  require_close(Case("Sum").input(a).input(b).input(b).run1(),
                NdArray::from<float>({2, 3, 2}, {21, 22, 41, 42, 61, 62, 23, 24, 43, 44, 63, 64}));
  require_close(Case("Mean").input(a).input(NdArray::scalar(3.0f)).run1(),
                NdArray::from<float>({2, 1, 2}, {2, 2.5f, 3, 3.5f}));
  require_close(Case("Max").input(a).input(NdArray::scalar(2.5f)).run1(),
                NdArray::from<float>({2, 1, 2}, {2.5f, 2.5f, 3, 4}));
  require_close(Case("PRelu")
                    .input(NdArray::from<float>({1, 2, 2}, {-1, 2, -3, 4}))
                    .constant(NdArray::from<float>({2, 1}, {0.5f, 0.1f}))
                    .run1(),
                NdArray::from<float>({1, 2, 2}, {-0.5f, 2, -0.3f, 4}));
  CHECK(Case("Mul").input(NdArray(DType::float32, {2, 3})).input(NdArray(DType::float32, {4})).refusal() ==
        "error: cannot accept Mul (node node): input 1 of shape [4] does not broadcast with [2, 3]. Hint: extents, "
        "aligned at the last axis, must be equal or 1; insert a "
        "Reshape or an Unsqueeze");
  CHECK(Case("Add").input(NdArray(DType::float32, {2})).input(NdArray(DType::int32, {2})).refusal() ==
        "error: cannot accept Add (node node): input 1 (B) has type int32, but input 0 has float32; they must be "
        "equal. Hint: insert a Cast before the node");
}

TEST_CASE("Binary operators on integers: wrap, truncation, remainders, powers, comparisons") {
  const auto i8 = [](std::vector<std::int8_t> v) {
    return NdArray::from<std::int8_t>({static_cast<std::int64_t>(v.size())}, v);
  };
  require_close(Case("Add").input(i8({100, -100})).input(i8({100, -100})).run1(), i8({-56, 56}));
  require_close(Case("Div").input(i8({-7, 7})).input(i8({2, -2})).run1(), i8({-3, -3}));
  require_close(Case("Mod").input(i8({-7, 7, -6, 7})).input(i8({3, -3, 3, 3})).run1(), i8({2, -2, 0, 1}));
  require_close(Case("Mod").input(i8({-7, 7})).input(i8({3, -3})).integer("fmod", 1).run1(), i8({-1, 1}));
  require_close(Case("Mod")
                    .input(NdArray::from<float>({2}, {-4.3f, 5.0f}))
                    .input(NdArray::from<float>({2}, {2.1f, 8.0f}))
                    .integer("fmod", 1)
                    .run1(),
                NdArray::from<float>({2}, {-0.1f, 5.0f}));
  require_close(Case("Pow")
                    .input(NdArray::from<std::int32_t>({3}, {1, 2, 3}))
                    .input(NdArray::from<float>({3}, {4, 5, 0.5f}))
                    .run1(),
                NdArray::from<std::int32_t>({3}, {1, 32, 1}));
  require_close(
      Case("Pow").input(NdArray::from<float>({2}, {2, 3})).input(NdArray::from<std::int64_t>({2}, {-1, 3})).run1(),
      NdArray::from<float>({2}, {0.5f, 27}));
  require_close(Case("LessOrEqual").input(i8({1, 2, 3})).input(i8({2, 2, 2})).run1(),
                NdArray::from<bool>({3}, {true, true, false}));
  require_close(
      Case("Xor").input(NdArray::from<bool>({2}, {true, true})).input(NdArray::from<bool>({2}, {true, false})).run1(),
      NdArray::from<bool>({2}, {false, true}));
  const NdArray bits = NdArray::from<std::uint8_t>({2}, {16, 129});
  require_close(Case("BitShift").input(bits).input(NdArray::scalar(std::uint8_t{1})).text("direction", "LEFT").run1(),
                NdArray::from<std::uint8_t>({2}, {32, 2}));
  require_close(Case("BitShift").input(bits).input(NdArray::scalar(std::uint8_t{1})).text("direction", "RIGHT").run1(),
                NdArray::from<std::uint8_t>({2}, {8, 64}));
  CHECK_THAT(Case("Mod").input(NdArray(DType::float32, {1})).input(NdArray(DType::float32, {1})).refusal(),
             Catch::Matchers::ContainsSubstring("fmod is 0 on float32"));
}

TEST_CASE("Clip, Where, Cast") {
  const NdArray x = NdArray::from<float>({4}, {-5, -1, 2, 9});
  require_close(Case("Clip").input(x).constant(NdArray::scalar(-2.0f)).constant(NdArray::scalar(3.0f)).run1(),
                NdArray::from<float>({4}, {-2, -1, 2, 3}));
  require_close(Case("Clip").input(x).omitted().input(NdArray::scalar(3.0f)).run1(),
                NdArray::from<float>({4}, {-5, -1, 2, 3}));
  require_close(Case("Clip").input(x).input(NdArray::scalar(2.0f)).input(NdArray::scalar(1.0f)).run1(),
                NdArray::from<float>({4}, {1, 1, 1, 1}));
  require_close(Case("Where")
                    .input(NdArray::from<bool>({2, 1}, {true, false}))
                    .input(NdArray::from<float>({2}, {1, 2}))
                    .input(NdArray::scalar(7.0f))
                    .run1(),
                NdArray::from<float>({2, 2}, {1, 2, 7, 7}));
  require_close(Case("Cast").input(x).integer("to", 3).run1(), NdArray::from<std::int8_t>({4}, {-5, -1, 2, 9}));
  require_close(Case("Cast").input(NdArray::from<float>({3}, {0.25f, 0, -2.75f})).integer("to", 9).run1(),
                NdArray::from<bool>({3}, {true, false, true}));
  require_close(Case("Cast").input(NdArray::from<float>({2}, {2.75f, -2.75f})).integer("to", 6).run1(),
                NdArray::from<std::int32_t>({2}, {2, -2}));
  CHECK_THAT(Case("Cast").input(x).integer("to", 8).refusal(),
             Catch::Matchers::ContainsSubstring("element type string (8) is not supported"));
}

}  // namespace
}  // namespace dovetail::ops

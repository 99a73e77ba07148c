// Quantized operators of the domain com.microsoft by their definition (dequantize, compute, quantize) in binary64: as
// import expands them, and as lower_qdq converts them to integers. Scales and zero points are random; values within a
// thousandth of a step of a tie may round to either side.
#include "compiler/passes/list.h"
#include "tests/unit/compiler/import/contrib.h"

using namespace dovetail::test::contrib;

namespace dovetail {
namespace {

struct StepTensor {
  NdArray steps;
  float scale = 1;
  int zero_point = 0;

  Reals real() const {
    return map(Reals(steps), [this](double step) { return (step - zero_point) * static_cast<double>(scale); });
  }
};

class StepDraw {
 public:
  StepDraw(unsigned seed, DType dtype) : rng_(seed), dtype_(dtype) {}

  int low() const { return dtype_ == DType::uint8 ? 0 : -128; }
  int high() const { return low() + 255; }
  int zero_point() { return std::uniform_int_distribution<int>(low(), high())(rng_); }
  float scale(double least, double most) {
    return static_cast<float>(std::exp(std::uniform_real_distribution<double>(std::log(least), std::log(most))(rng_)));
  }
  StepTensor tensor(const Shape& shape, double least = 0.003, double most = 0.2) {
    return {drawn_integers(rng_, dtype_, shape, low(), high()), scale(least, most), zero_point()};
  }
  NdArray as_zero_point(int value) const {
    NdArray array(dtype_, {});
    array.set_int64(0, value);
    return array;
  }

 private:
  std::mt19937 rng_;
  DType dtype_;
};

void add_operand(ContribNode& node, const StepDraw& draw, const StepTensor& x, const std::string& name) {
  node.input(name, x.steps).constant(name + "_scale", NdArray::scalar(x.scale));
  node.constant(name + "_zero", draw.as_zero_point(x.zero_point));
}
void add_result(ContribNode& node, const StepDraw& draw, float scale, int zero_point) {
  node.constant("y_scale", NdArray::scalar(scale)).constant("y_zero", draw.as_zero_point(zero_point));
}

void check_steps(const NdArray& actual, const Reals& real, const StepDraw& draw, float scale, int zero_point) {
  REQUIRE(actual.shape() == real.shape);
  for (std::int64_t i = 0; i < real.count(); ++i) {
    const double step = real[i] / static_cast<double>(scale);
    const auto saturated = [&](double value) {
      return std::min(std::max(value + zero_point, static_cast<double>(draw.low())), static_cast<double>(draw.high()));
    };
    const double least = saturated(std::nearbyint(step - 1e-3)), most = saturated(std::nearbyint(step + 1e-3));
    INFO(i << ": " << step << " + " << zero_point << " is " << actual.as_double(i));
    CHECK((actual.as_double(i) == least || actual.as_double(i) == most));
  }
}

void check_node(ContribNode& node, const Reals& real, const StepDraw& draw, float scale, int zero_point) {
  const auto imported = node.imported();
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  for (const bool lowers : {false, true}) {
    INFO(node.op << ", lowered " << lowers);
    graph::Graph graph = imported->graph;
    if (lowers) REQUIRE(passes::lower_qdq(graph, {}).ok());
    const auto reference = Reference::make(std::move(graph));
    REQUIRE((reference.ok() ? "" : to_string(reference.errors())) == "");
    const auto result = reference->run(node.values);
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    check_steps(result->at("y"), real, draw, scale, zero_point);
  }
}

TEST_CASE("com.microsoft: quantized operators with any scales and zero points") {
  for (const DType dtype : {DType::uint8, DType::int8})
    for (unsigned seed = 1; seed <= 4; ++seed) {
      INFO(name(dtype) << ", seed " << seed);
      StepDraw draw(seed, dtype);
      const StepTensor a = draw.tensor({2, 5, 7}), b = seed % 2 == 0 ? draw.tensor({2, 5, 7}) : draw.tensor({5, 1});
      for (const bool adds : {true, false}) {
        ContribNode node{adds ? "QLinearAdd" : "QLinearMul"};
        const float scale = adds ? (a.scale + b.scale) * 0.71f : a.scale * b.scale * 73.7f;
        const int zero_point = draw.zero_point();
        const Reals ra = a.real(), rb = b.real();
        Reals real = ra;
        for (std::int64_t i = 0; i < real.count(); ++i) {
          const double other = rb[rb.count() == 5 ? i / 7 % 5 : i];
          real[i] = adds ? ra[i] + other : ra[i] * other;
        }
        add_operand(node, draw, a, "a");
        add_operand(node, draw, b, "b");
        add_result(node, draw, scale, zero_point);
        check_node(node, real, draw, scale, zero_point);
      }
      const auto unary = [&](ContribNode node, const StepTensor& x, const Reals& real, float scale, int zero_point) {
        add_operand(node, draw, x, "x");
        add_result(node, draw, scale, zero_point);
        check_node(node, real, draw, scale, zero_point);
      };
      unary(ContribNode{"QLinearSigmoid"}, a, map(a.real(), [](double v) { return 1 / (1 + std::exp(-v)); }),
            1.0f / 253, draw.zero_point());
      unary(ContribNode{"QLinearLeakyRelu"}.with("alpha", 0.37f), a,
            map(a.real(), [](double v) { return v < 0 ? v * static_cast<double>(0.37f) : v; }), a.scale * 0.81f,
            draw.zero_point());
      const StepTensor image = draw.tensor({2, 3, 4, 5});
      Reals mean(Shape{2, 3, 1, 1});
      for (std::int64_t i = 0; i < image.steps.count(); ++i) mean[i / 20] += image.real()[i] / 20;
      unary(ContribNode{"QLinearGlobalAveragePool"}, image, mean, image.scale * 0.31f, draw.zero_point());
      const StepTensor row = draw.tensor({3, 6}, 0.01, 0.1);
      Reals softmax = map(row.real(), [](double v) { return std::exp(v); });
      for (std::int64_t r = 0; r < 3; ++r) {
        double sum = 0;
        for (std::int64_t c = 0; c < 6; ++c) sum += softmax[r * 6 + c];
        for (std::int64_t c = 0; c < 6; ++c) softmax[r * 6 + c] /= sum;
      }
      unary(ContribNode{"QLinearSoftmax"}.with("axis", -1).with("opset", 13), row, softmax, 1.0f / 254, draw.low());

      const StepTensor left = draw.tensor({2, 3}), right = draw.tensor({2, 4});
      ContribNode concat{"QLinearConcat"};
      const float scale = draw.scale(0.05, 0.1);
      const int zero_point = draw.zero_point();
      add_result(concat, draw, scale, zero_point);
      add_operand(concat, draw, left, "a");
      add_operand(concat, draw, right, "b");
      Reals joint(Shape{2, 7});
      for (std::int64_t i = 0; i < 14; ++i)
        joint[i] = i % 7 < 3 ? left.real()[i / 7 * 3 + i % 7] : right.real()[i / 7 * 4 + i % 7 - 3];
      check_node(concat.with("axis", 1), joint, draw, scale, zero_point);
    }
}

TEST_CASE("com.microsoft.QGemm: scales of the tensor or of columns, alpha and a bias") {
  for (const DType dtype : {DType::uint8, DType::int8})
    for (unsigned seed = 1; seed <= 4; ++seed) {
      StepDraw draw(seed, dtype);
      std::mt19937 rng(seed);
      const StepTensor a = draw.tensor({4, 9}), b = draw.tensor({9, 5});
      const NdArray bias = drawn_integers(rng, DType::int32, {5}, -2000, 2000);
      const bool per_column = seed % 2 == 0;
      const float alpha = seed == 3 ? 0.37f : 1;
      NdArray scales(DType::float32, {5}), zeros(dtype, {5});
      for (std::int64_t c = 0; c < 5; ++c) {
        scales.set_double(c, per_column ? b.scale * (1 + 0.3f * static_cast<float>(c)) : b.scale);
        zeros.set_int64(c, per_column ? draw.zero_point() : b.zero_point);
      }
      Reals real(Shape{4, 5});
      for (std::int64_t i = 0; i < 20; ++i) {
        const double step = static_cast<double>(a.scale) * scales.as_double(i % 5) * alpha;
        real[i] = bias.as_double(i % 5) * step;
        for (std::int64_t k = 0; k < 9; ++k)
          real[i] += (a.steps.as_double(i / 5 * 9 + k) - a.zero_point) *
                     (b.steps.as_double(k * 5 + i % 5) - zeros.as_double(i % 5)) * step;
      }
      ContribNode node{"QGemm"};
      add_operand(node, draw, a, "a");
      node.constant("b", b.steps)
          .constant("b_scale", per_column ? scales : NdArray::scalar(b.scale))
          .constant("b_zero", per_column ? zeros : draw.as_zero_point(b.zero_point))
          .constant("c", bias);
      const float scale = a.scale * b.scale * 533;
      const int zero_point = draw.zero_point();
      add_result(node, draw, scale, zero_point);
      check_node(node.with("alpha", alpha), real, draw, scale, zero_point);
    }
}

}  // namespace
}  // namespace dovetail

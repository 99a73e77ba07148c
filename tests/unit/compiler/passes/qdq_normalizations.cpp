// The integer forms of Softmax, LayerNormalization and RMSNormalization compared with exact arithmetic (here: long
// double), rounded once: how many values differ, and by how much (docs/reference/quantization.md).
#include <cmath>
#include <random>

#include "compiler/passes/list.h"
#include "compiler/reference/reference.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {
namespace {

using graph::ValueId;
using Reals = std::vector<long double>;

struct Difference {
  std::int64_t values = 0, different = 0, most = 0;
  double share() const { return static_cast<double>(different) / static_cast<double>(values); }
};

enum class Values : std::uint8_t { uniform, normal, peaked, narrow };

NdArray draw_steps(std::mt19937& rng, const Shape& shape, Values values) {
  NdArray array(DType::int8, shape);
  std::normal_distribution<double> normal(-10, values == Values::narrow ? 0.7 : 35);
  std::uniform_int_distribution<int> uniform(-128, 127);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    double step = values == Values::uniform ? uniform(rng) : std::nearbyint(normal(rng));
    if (values == Values::peaked && i % 37 == 0) step += 70;
    array.set_int64(i, static_cast<std::int64_t>(std::clamp(step, -128.0, 127.0)));
  }
  return array;
}

// Runs op(dequantize(x)) in its integer form, row by row, next to `exact`.
Difference compare(const std::string& op, const NdArray& x, float scale, float y_scale, int y_zero_point,
                   const std::vector<NdArray>& constants, const std::function<Reals(const Reals&)>& exact) {
  test::GraphMaker make;
  std::vector<ValueId> operands{make.dequantize("x_dq", make.input("x", DType::int8, x.shape()), scale, 11)};
  for (const NdArray& constant : constants) operands.push_back(make.constant("c", constant));
  make.output(make.quantize("y", make.node(op, "op", operands, {}), y_scale, y_zero_point));
  graph::Graph integer = make.graph;
  REQUIRE(passes::lower_qdq(integer).ok());
  REQUIRE(integer.live_nodes().size() == 1);
  auto reference = Reference::make(integer);
  REQUIRE(reference.ok());
  auto values = reference->run({{"x", x}});
  REQUIRE(values.ok());
  const NdArray& actual = values->at("y");

  Difference result;
  const std::int64_t n = x.shape().back();
  for (std::int64_t begin = 0; begin < x.count(); begin += n) {
    Reals row;
    for (std::int64_t i = 0; i < n; ++i)
      row.push_back(static_cast<long double>(x.as_int64(begin + i) - 11) * static_cast<long double>(scale));
    const Reals real = exact(row);
    for (std::int64_t i = 0; i < n; ++i) {
      const long double steps = std::nearbyint(real[static_cast<std::size_t>(i)] / static_cast<long double>(y_scale));
      const auto expected = static_cast<std::int64_t>(std::clamp(steps + y_zero_point, -128.0L, 127.0L));
      const std::int64_t apart = std::abs(expected - actual.as_int64(begin + i));
      ++result.values;
      result.different += apart != 0;
      result.most = std::max(result.most, apart);
    }
  }
  return result;
}

Reals exact_softmax(const Reals& x) {
  long double sum = 0;
  Reals y;
  for (const long double value : x) y.push_back(std::exp(value - x[0])), sum += y.back();
  for (long double& value : y) value /= sum;
  return y;
}

TEST_CASE("integer Softmax differs from exact arithmetic by a step in few values") {
  std::mt19937 rng(31);
  Difference all;
  for (const Values values : {Values::uniform, Values::normal, Values::peaked})
    for (const std::int64_t n : {64, 197, 510})
      for (const float scale : {0.02f, 0.06f, 0.15f})
        for (const auto& [y_scale, zero_point] : {std::pair{1.0f / 256, -128}, {0.0037f, -128}}) {
          INFO(static_cast<int>(values) << ", " << n << " elements, scale " << scale << ", result " << y_scale);
          const NdArray x = draw_steps(rng, {24, n}, values);
          const Difference d = compare("Softmax", x, scale, y_scale, zero_point, {}, exact_softmax);
          CAPTURE(d.different, d.values);
          CHECK(d.most <= 1);
          all.different += d.different, all.values += d.values;
        }
  CAPTURE(all.different, all.values);
  CHECK(all.share() <= 1e-4);
}

TEST_CASE("integer LayerNormalization and RMSNormalization differ from exact arithmetic in few values") {
  std::mt19937 rng(32);
  for (const bool centers : {true, false})
    for (const Values values : {Values::uniform, Values::normal, Values::narrow})
      for (const std::int64_t n : {48, 256, 768, 3000}) {
        INFO(centers << ", " << static_cast<int>(values) << ", " << n << " elements");
        const float scale = 0.031f, y_scale = values == Values::narrow ? 0.041f : 0.023f;
        const NdArray x = draw_steps(rng, {12, n}, values);
        NdArray gamma(DType::float32, {n}), beta(DType::float32, {n});
        std::uniform_real_distribution<float> draw(-1.2f, 1.2f);
        for (float& value : gamma.data<float>()) value = draw(rng);
        for (float& value : beta.data<float>()) value = draw(rng);
        const auto exact = [&](const Reals& row) {
          long double mean = 0, square = 0;
          for (const long double value : row) mean += value / static_cast<long double>(n);
          if (!centers) mean = 0;
          for (const long double value : row) square += (value - mean) * (value - mean) / static_cast<long double>(n);
          Reals y;
          for (std::size_t i = 0; i < row.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            y.push_back((row[i] - mean) / std::sqrt(square + 1e-5L) * static_cast<long double>(gamma.as_double(at)));
            if (centers) y.back() += static_cast<long double>(beta.as_double(at));
          }
          return y;
        };
        const std::vector<NdArray> constants = centers ? std::vector{gamma, beta} : std::vector{gamma};
        const Difference d =
            compare(centers ? "LayerNormalization" : "RMSNormalization", x, scale, y_scale, 3, constants, exact);
        CAPTURE(d.different, d.values);
        CHECK(d.most <= 1);
        CHECK(d.share() <= 1e-4);
      }
}

}  // namespace
}  // namespace dovetail

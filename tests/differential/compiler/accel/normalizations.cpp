// Softmax and normalizations on the extension `norm`, bit for bit the reference's.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes/qdq/arithmetic.h"
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator/generator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

struct NormalizationMaker : test::Int8GraphMaker {
  test::Draw draw;

  explicit NormalizationMaker(std::uint64_t seed) : draw(seed) {}

  graph::ValueId softmax(graph::ValueId x, float x_scale, std::int64_t axis = -1,
                         std::optional<NdArray> visible = std::nullopt, float y_scale = 0x1p-8f) {
    const Shape& shape = graph.value(x).type.shape;
    const std::int64_t extent = axis < 0 ? shape.back() : shape[static_cast<std::size_t>(axis)];
    const auto numbers = passes::qdq::softmax(extent, x_scale, y_scale);
    REQUIRE(numbers);
    std::vector<graph::ValueId> inputs{
        x, graph.add_constant("exponentials", NdArray::from<std::uint16_t>({256}, numbers->table))};
    if (visible) inputs.push_back(graph.add_constant("visible", *std::move(visible)));
    return node("dovetail.qsoftmax", "softmax", std::move(inputs),
                {{"axis", axis},
                 {"scale", numbers->scale},
                 {"shift", static_cast<std::int64_t>(numbers->shift)},
                 {"y_zero_point", std::int64_t{-128}}});
  }
  graph::ValueId normalize(graph::ValueId x, bool centers, double epsilon = 1e-5, bool by_channel = true) {
    const std::int64_t extent = graph.value(x).type.shape.back();
    std::vector<double> gamma(by_channel ? static_cast<std::size_t>(extent) : 1), beta(gamma.size());
    for (double& value : gamma) value = static_cast<double>(draw.between(-200, 200)) / 100;
    for (double& value : beta) value = centers ? static_cast<double>(draw.between(-100, 100)) / 100 : 0;
    const auto numbers = passes::qdq::normalization(extent, epsilon, gamma, beta, 0.05f, 0.03f);
    REQUIRE(numbers);
    const auto channels = static_cast<std::int64_t>(gamma.size());
    return node("dovetail.qnormalize", "normalize",
                {x, graph.add_constant("gamma", NdArray::from<float>({channels}, numbers->scale)),
                 graph.add_constant("beta", NdArray::from<std::int32_t>({channels}, numbers->bias))},
                {{"parts", numbers->parts},
                 {"epsilon", numbers->epsilon},
                 {"bits", static_cast<std::int64_t>(numbers->bits)},
                 {"shift", static_cast<std::int64_t>(numbers->shift)},
                 {"center", std::int64_t{centers}},
                 {"x_zero_point", draw.coin() ? draw.between(-20, 20) : 0},
                 {"y_zero_point", draw.between(-9, 9)}});
  }
};

constexpr bool isa::HardwareConfig::*kExtensions[] = {&isa::HardwareConfig::requant, &isa::HardwareConfig::table,
                                                      &isa::HardwareConfig::norm};

std::vector<isa::HardwareConfig> with_norm() {
  std::vector<isa::HardwareConfig> configs = isa::named_configs();
  for (isa::HardwareConfig& config : configs)
    for (bool isa::HardwareConfig::*extension : kExtensions) config.*extension = true;
  return configs;
}

// Some rows of scores with large differences, and some whose maximum occurs several times.
NdArray scores(test::Draw& draw, const Shape& shape) {
  NdArray x = draw.int8(shape);
  const std::int64_t n = shape.back();
  for (std::int64_t row = 0; row < x.count() / n; row += 3)
    for (std::int64_t e = 0; e < n; ++e) x.set_int64(row * n + e, row % 2 == 0 ? 100 : draw.between(-20, 20));
  return x;
}

}  // namespace

TEST_CASE("accel: softmax of rows, with whole and with partial blocks of channels") {
  std::uint64_t seed = 0;
  for (const isa::HardwareConfig& config : with_norm())
    for (const Shape& shape : {Shape{5, 16}, Shape{1, 20, 48}, Shape{2, 3, 21}, Shape{7, 1}, Shape{3, 100}}) {
      NormalizationMaker make(++seed);
      make.softmax(make.input(shape), make.draw.coin() ? 0.02f : 0.2f, -1, std::nullopt,
                   make.draw.coin() ? 0x1p-8f : 0.005f);
      const test::Ran ran =
          test::run_on_accelerator(make.graph, config, {{"x", scores(make.draw, shape)}}, test::Demand::what_fits);
      CHECK((config.name == "tiny" || ran.by_row.at("softmax") == 1));
    }
}

TEST_CASE("accel: softmax along the channels of an image") {
  NormalizationMaker make(60);
  const Shape shape{2, 24, 5, 3};
  make.softmax(make.input(shape), 0.05f, 1);
  isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
  config.table = config.norm = true;
  const test::Ran ran = test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
  CHECK(ran.by_row.at("softmax") == 1);
}

TEST_CASE("accel: softmax of scores that a mask hides") {
  std::uint64_t seed = 100;
  for (const isa::HardwareConfig& config : with_norm())
    for (const std::int64_t length : {16, 33}) {
      NormalizationMaker make(++seed);
      const Shape shape{2, length, length};
      NdArray causal(DType::boolean, {length, length});
      for (std::int64_t row = 0; row < length; ++row)
        for (std::int64_t column = 0; column <= row; ++column) causal.set_int64(row * length + column, 1);
      make.softmax(make.input(shape), make.draw.coin() ? 0.01f : 0.1f, -1, std::move(causal));
      test::run_on_accelerator(make.graph, config, {{"x", scores(make.draw, shape)}}, test::Demand::what_fits);
    }
}

TEST_CASE("accel: normalizations of rows") {
  std::uint64_t seed = 200;
  for (const isa::HardwareConfig& config : with_norm())
    for (const Shape& shape : {Shape{5, 16}, Shape{1, 9, 48}, Shape{2, 3, 21}, Shape{3, 200}})
      for (const bool centers : {false, true}) {
        NormalizationMaker make(++seed);
        make.normalize(make.input(shape), centers, 1e-5, make.draw.coin());
        const test::Ran ran =
            test::run_on_accelerator(make.graph, config, {{"x", scores(make.draw, shape)}}, test::Demand::what_fits);
        CHECK((config.name == "tiny" || ran.by_row.at("normalization") == 1));
      }
}

TEST_CASE("accel: rows on random hardware") {
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    isa::HardwareConfig config = test::random_config(seed);
    for (bool isa::HardwareConfig::*extension : kExtensions) config.*extension = true;
    if (!isa::validate(config).ok()) continue;
    NormalizationMaker make(300 + seed);
    const Shape shape{make.draw.between(1, 4), make.draw.between(1, 9), make.draw.between(1, 70)};
    const graph::ValueId x = make.input(shape);
    if (make.draw.coin()) {
      make.normalize(x, make.draw.coin());
    } else {
      NdArray visible(DType::boolean, {shape[1], shape[2]});
      for (std::int64_t i = 0; i < visible.count(); ++i) visible.set_int64(i, i % shape[2] == 0 || make.draw.coin());
      make.softmax(x, 0.03f, -1, make.draw.coin() ? std::optional(std::move(visible)) : std::nullopt);
    }
    const test::Ran ran =
        test::run_on_accelerator(make.graph, config, {{"x", scores(make.draw, shape)}}, test::Demand::none);
    taken += ran.by_row.empty() ? 0 : 1;
  }
  CHECK(taken >= 15);
}

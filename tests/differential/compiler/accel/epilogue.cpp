// Convolutions and dense layers whose products end with the epilogue, compared with the reference: edges of tiles,
// channels beyond a block, sums of several tiles of channels, tables, and the operators that join them.
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

std::vector<isa::HardwareConfig> machines_with_epilogue() {
  std::vector<isa::HardwareConfig> all;
  for (const char* name :
       {"1x16x16-ext", "1x16x16-ext,window=true", "1x16x16-ext,table=true", "1x16x16-ext,window=true,table=true",
        "2x16x16,requant=true", "1x32x32,requant=true,saturate=true,overwrite=true,window=true", "1x32x16,requant=true",
        "1x16x16-ext,overwrite=false", "1x16x16-ext,saturate=false", "1x16x16-ext,uop_buffer_bytes=512",
        "1x16x16-ext,wgt_buffer_bytes=8192,window=true"})
    all.push_back(*isa::load_config(std::string(name) + ",epilogue=true"));
  return all;
}

struct EpilogueMaker : test::Int8GraphMaker {
  test::Draw draw;
  explicit EpilogueMaker(std::uint64_t seed) : draw(seed) {}

  graph::ValueId product(const std::string& op, const std::string& name, graph::ValueId x, const Shape& weights,
                         graph::Attributes attributes) {
    NdArray bias(DType::int32, {weights[0]}), scale(DType::float32, {weights[0]});
    for (auto& value : bias.data<std::int32_t>()) value = static_cast<std::int32_t>(draw.between(-3000, 3000));
    for (auto& value : scale.data<float>()) value = 0.002f + 0.00001f * static_cast<float>(draw.between(0, 999));
    attributes["x_zero_point"] = draw.between(-9, 9);
    attributes["y_zero_point"] = draw.between(-99, 99);
    if (draw.coin()) attributes["y_min"] = draw.between(-128, -50);
    if (draw.coin()) attributes["y_max"] = draw.between(50, 127);
    return weighted(op, name, x, draw.int8(weights), std::move(bias), std::move(scale), std::move(attributes));
  }
  graph::ValueId conv(const std::string& name, graph::ValueId x, std::int64_t outputs, std::int64_t kernel,
                      std::int64_t stride = 1, std::int64_t group = 1) {
    const std::int64_t inputs = graph.value(x).type.shape[1];
    return product("dovetail.qconv", name, x, {outputs, inputs / group, kernel, kernel},
                   {{"pads", std::vector<std::int64_t>(4, kernel / 2)},
                    {"strides", std::vector<std::int64_t>{stride, stride}},
                    {"group", group}});
  }
  graph::ValueId table(const std::string& name, graph::ValueId x) {
    return node("dovetail.qtable", name, {x, graph.add_constant(name + "_t", draw.int8({256}))}, {});
  }
};

}  // namespace

TEST_CASE("accel: convolutions whose products end with the epilogue") {
  struct Case {
    std::int64_t batch, inputs, outputs, kernel, stride, group, height, width;
  };
  // clang-format off
  constexpr Case kCases[] = {
      {1, 16,  16,  1, 1, 1,  4,  4},   // one product for each sum
      {1, 16,  16,  3, 1, 1,  9,  7},
      {2, 40,  24,  3, 2, 1,  11, 8},   // channels beyond a block
      {1, 3,   20,  3, 2, 1,  13, 9},   // channels that share a block
      {1, 512, 80,  1, 1, 1,  7,  7},   // sums of several tiles
      {1, 64,  256, 3, 1, 1,  14, 14},  // several tiles of outputs
      {1, 48,  48,  3, 1, 3,  8,  8},   // groups
      {1, 40,  40,  3, 1, 40, 9,  9},   // depthwise
      {3, 33,  33,  5, 2, 33, 12, 5},
      {1, 16,  7,   7, 1, 1,  7,  40},
  };
  // clang-format on
  std::uint64_t seed = 0;
  for (const isa::HardwareConfig& config : machines_with_epilogue())
    for (const Case& each : kCases) {
      EpilogueMaker make(++seed);
      const Shape shape{each.batch, each.inputs, each.height, each.width};
      make.conv("conv", make.input(shape), each.outputs, each.kernel, each.stride, each.group);
      const test::Ran ran =
          test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
      CHECK((ran.cycles == 0 || ran.epilogues > 0));
      CHECK(ran.alu_uops == 0);
    }
}

TEST_CASE("accel: dense layers whose products end with the epilogue") {
  std::uint64_t seed = 100;
  for (const isa::HardwareConfig& config : machines_with_epilogue())
    for (const auto& [rows, inputs, outputs] : {std::array<std::int64_t, 3>{1, 16, 10}, {5, 200, 130}, {33, 64, 48}}) {
      EpilogueMaker make(++seed);
      const Shape shape{rows, inputs};
      make.product("dovetail.qgemm", "dense", make.input(shape), {outputs, inputs}, {});
      const test::Ran ran = test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
      CHECK(ran.epilogues > 0);
      CHECK(ran.alu_uops == 0);
    }
}

TEST_CASE("accel: tables after epilogues") {
  std::uint64_t seed = 200;
  for (const isa::HardwareConfig& config : machines_with_epilogue()) {
    if (!config.table) continue;
    EpilogueMaker make(++seed);
    const Shape shape{1, 20, 9, 11};
    graph::ValueId x = make.table("a_table", make.conv("a", make.input(shape), 24, 3));
    x = make.table("b_table", make.conv("b", x, 24, 3, 1, 24));
    make.conv("c", x, 40, 1);
    const test::Ran ran = test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
    CHECK(ran.by_row.at("convolution and table") == 2);
    CHECK(ran.epilogues > 0);
    CHECK(ran.alu_uops == 0);
  }
}

TEST_CASE("accel: sums and maxima after convolutions keep the ALU's epilogue where they are computed together") {
  std::uint64_t seed = 300;
  for (const isa::HardwareConfig& config : machines_with_epilogue()) {
    EpilogueMaker make(++seed);
    const Shape shape{1, 32, 12, 12};
    const graph::ValueId x = make.input(shape), a = make.conv("a", x, 32, 3);
    const graph::ValueId sum = make.node("dovetail.qadd", "sum", {make.conv("b", a, 32, 3), a},
                                         {{"a_multiplier", 45875.0}, {"b_multiplier", 26214.0}, {"scale", 0x1p-16}});
    make.node("MaxPool", "pool", {make.conv("c", sum, 48, 1)},
              {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}});
    const test::Ran ran =
        test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
    CHECK(ran.epilogues > 0);
  }
}

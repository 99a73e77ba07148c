// Tables in the memory TAB: alone, and at the epilogue of a convolution or a dense layer, bit for bit the reference's.
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

struct TableMaker : test::Int8GraphMaker {
  test::Draw draw;

  explicit TableMaker(std::uint64_t seed) : draw(seed) {}

  graph::ValueId table(const std::string& name, graph::ValueId x) {
    return node("dovetail.qtable", name, {x, graph.add_constant(name + "_t", draw.int8({256}))}, {});
  }
  graph::ValueId product(const std::string& op, const std::string& name, graph::ValueId x, const Shape& weights,
                         graph::Attributes attributes) {
    NdArray bias(DType::int32, {weights[0]}), scale(DType::float32, {weights[0]});
    for (auto& value : bias.data<std::int32_t>()) value = static_cast<std::int32_t>(draw.between(-3000, 3000));
    for (auto& value : scale.data<float>()) value = draw.coin() ? 0x1p-7f : 0x1p-6f;  // many results are clamped
    attributes["x_zero_point"] = draw.between(-9, 9);
    attributes["y_zero_point"] = draw.between(-99, 99);
    if (draw.one_in(3)) attributes["y_min"] = draw.between(-128, -100);
    if (draw.one_in(3)) attributes["y_max"] = draw.between(100, 127);
    return weighted(op, name, x, draw.int8(weights), std::move(bias), std::move(scale), std::move(attributes));
  }
  graph::ValueId conv(const std::string& name, graph::ValueId x, std::int64_t outputs, std::int64_t group = 1) {
    const std::int64_t inputs = graph.value(x).type.shape[1];
    return product("dovetail.qconv", name, x, {outputs, inputs / group, 3, 3},
                   {{"pads", std::vector<std::int64_t>(4, 1)}, {"group", group}});
  }
  graph::ValueId gemm(const std::string& name, graph::ValueId x, std::int64_t outputs) {
    return product("dovetail.qgemm", name, x, {outputs, graph.value(x).type.shape.back()}, {});
  }
};

std::vector<isa::HardwareConfig> with_tables() {
  std::vector<isa::HardwareConfig> configs = isa::named_configs();
  for (isa::HardwareConfig& config : configs) config.table = true;
  return configs;
}

}  // namespace

TEST_CASE("accel: a table of an image and of a matrix") {
  std::uint64_t seed = 0;
  for (const isa::HardwareConfig& config : with_tables())
    for (const Shape& shape : {Shape{1, 16, 4, 4}, Shape{2, 21, 5, 3}, Shape{3, 40}, Shape{1, 24, 20, 17}}) {
      TableMaker make(++seed);
      make.table("table", make.input(shape));
      const test::Ran ran = test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
      CHECK(ran.by_row.at("table") == 1);
    }
}

TEST_CASE("accel: tables after convolutions, depthwise ones too, in one region") {
  std::uint64_t seed = 100;
  for (const isa::HardwareConfig& config : with_tables())
    for (const std::int64_t batch : {1, 2}) {
      TableMaker make(++seed);
      const Shape shape{batch, 20, 9, 7};
      graph::ValueId x = make.input(shape);
      x = make.table("a_table", make.conv("a", x, 24));
      x = make.table("b_table", make.conv("b", x, 24, 24));
      x = make.table("again", x);
      make.conv("c", x, 8);
      const test::Ran ran =
          test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
      CHECK((config.name == "tiny" || ran.by_row.at("convolution and table") == 2));
    }
}

TEST_CASE("accel: tables after dense layers, and a gate") {
  std::uint64_t seed = 200;
  for (const isa::HardwareConfig& config : with_tables()) {
    TableMaker make(++seed);
    const Shape shape{3, 40};
    const graph::ValueId x = make.input(shape), up = make.gemm("up", x, 48),
                         gate = make.table("gate_table", make.gemm("gate", x, 48));
    make.gemm("down", make.node("dovetail.qmul", "product", {up, gate}, {{"scale", 0.0078125}}), 40);
    const test::Ran ran =
        test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
    CHECK((config.name == "tiny" || ran.by_row.at("dense layer and table") == 1));
  }
}

TEST_CASE("accel: a result that others read too, and a table for each channel, have no joint epilogue") {
  isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
  config.table = true;
  TableMaker make(300);
  const Shape shape{1, 16, 6, 6};
  const graph::ValueId a = make.conv("a", make.input(shape), 16), b = make.table("table", a);
  make.node("dovetail.qadd", "add", {a, b},
            {{"a_multiplier", 40000.5}, {"b_multiplier", 30000.25}, {"scale", 0x1p-16}});
  const test::Ran ran = test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
  CHECK(ran.by_row.at("table") == 1);
  CHECK(ran.by_row.at("convolution") == 1);
}

TEST_CASE("accel: a table needs the extension") {
  TableMaker make(400);
  make.table("table", make.input({1, 16, 4, 4}));
  CompileOptions options;
  options.available = test::kit_targets(*isa::load_config("1x16x16-ext"), "interpreter");
  options.targets = {"accel"};
  options.stop_after = "partition";
  const auto compiled = compile({make.graph, {}}, options);
  REQUIRE(compiled.ok());
  CHECK(compiled->placement.front().why ==
        "its table is not two lines through one point, and the accelerator has no memory for tables (`table=true` adds "
        "it)");
}

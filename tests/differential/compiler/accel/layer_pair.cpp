// Layers that run side by side on the accelerator, compared with the reference.
#include "bundle/code/accel.h"
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

struct TwoLayers : test::Int8GraphMaker {
  test::Draw draw{5};

  graph::ValueId conv(const std::string& name, graph::ValueId x, std::int64_t outputs, std::int64_t kernel,
                      std::int64_t groups = 1) {
    const std::int64_t inputs = graph.value(x).type.shape[1];
    NdArray bias(DType::int32, {outputs}), scale(DType::float32, {outputs});
    for (auto& value : scale.data<float>()) value = 0x1p-9f;
    return weighted("dovetail.qconv", name, x, draw.int8({outputs, inputs / groups, kernel, kernel}), std::move(bias),
                    std::move(scale), {{"group", groups}, {"pads", std::vector<std::int64_t>(4, kernel / 2)}});
  }
  std::map<std::string, NdArray> image(const Shape& shape) { return {{"x", draw.int8(shape)}}; }
};

// Whether instructions of the second layer come before some of the first.
bool side_by_side(const graph::Graph& graph, const isa::HardwareConfig& config) {
  CompileOptions options;
  options.available = test::kit_targets(config);
  options.targets = {"accel"};
  const Compiled compiled = compile({graph, {}}, options).value();
  const auto steps = bundle::accel_steps(compiled.bundle).value();
  REQUIRE(steps.size() == 1);
  return steps.front().code.ranges.size() > 2;
}

}  // namespace

TEST_CASE("layer_pair: a layer that loads overlaps the previous layer, which computes") {
  const isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
  for (const std::int64_t rows : {57, 64}) {
    TwoLayers make;
    const Shape shape{1, 64, rows, 56};
    make.conv("project", make.conv("depthwise", make.input(shape), 64, 3, 64), 16, 1);
    CHECK(side_by_side(make.graph, config));
    test::run_on_accelerator(make.graph, config, make.image(shape));
  }
}

TEST_CASE("layer_pair: layers that do not wait for memory run one after the other") {
  const isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
  TwoLayers make;
  const Shape shape{1, 32, 28, 28};
  make.conv("second", make.conv("first", make.input(shape), 32, 3), 32, 3);
  CHECK_FALSE(side_by_side(make.graph, config));
}

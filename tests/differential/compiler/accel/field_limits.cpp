// Shapes at the limits of the fields of an instruction, and one below and above: planes, rows and weights whose
// distance exceeds a stride, rows longer than a transfer, loops with more trips than an instruction allows. No such
// limit is an error: transfers and loops are split. A layer that exceeds the memory goes to the next target.
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/target/accel/lower/lowering_facts.h"
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

// Elements of four bytes, otherwise 1x16x16-ext: the same fields at a quarter of the work.
isa::HardwareConfig small_blocks() {
  isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
  config.name = "1x4x4-ext";
  config.block_in = config.block_out = 4;
  config.inp_buffer_bytes = 8192;
  config.wgt_buffer_bytes = 16384;
  config.acc_buffer_bytes = 32768;
  REQUIRE(isa::validate(config).ok());
  REQUIRE(config.encoding() == isa::Encoding::compact);
  return config;
}

struct Maker : test::Int8GraphMaker {
  test::Draw draw{11};

  graph::ValueId conv(graph::ValueId x, std::int64_t outputs, std::int64_t kh, std::int64_t kw,
                      graph::Attributes attributes = {}) {
    const auto group = attributes.contains("group") ? std::get<std::int64_t>(attributes.at("group")) : 1;
    NdArray bias(DType::int32, {outputs}), scale(DType::float32, {outputs});
    for (auto& value : bias.data<std::int32_t>()) value = static_cast<std::int32_t>(draw.between(-5000, 5000));
    for (auto& value : scale.data<float>()) value = 0x1.3p-9f;
    attributes["y_zero_point"] = std::int64_t{3};
    return weighted("dovetail.qconv", graph.unique_node_name("conv"), x,
                    draw.int8({outputs, graph.value(x).type.shape[1] / group, kh, kw}), std::move(bias),
                    std::move(scale), std::move(attributes));
  }
};

const std::vector<std::int64_t> kPadded(4, 1);

std::int64_t most_stride(const isa::HardwareConfig& config) { return accel::LoweringFacts(config).most_stride; }

}  // namespace

TEST_CASE("planes of as many pixels as a stride holds, one fewer and one more") {
  const isa::HardwareConfig config = small_blocks();
  REQUIRE(most_stride(config) == 255 * 257);
  // For one row of pixels the rows of a transfer are blocks of channels, which are a plane apart.
  for (const auto& [h, w] : {std::pair(254, 258), std::pair(255, 257), std::pair(256, 256), std::pair(257, 257),
                             std::pair(1, 255 * 257), std::pair(1, 256 * 256), std::pair(1, 257 * 257)}) {
    const Shape shape{1, 8, h, w};
    SECTION("convolution 1x1, and the sum after it, " + to_string(shape)) {
      Maker make;
      const graph::ValueId x = make.input(shape), y = make.conv(x, 8, 1, 1);
      make.node("dovetail.qadd", "add", {x, y},
                {{"a_multiplier", 40000.5}, {"b_multiplier", 30000.25}, {"scale", 0x1p-16}});
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
    }
    SECTION("depthwise convolution, with a border of zero points, " + to_string(shape)) {
      Maker make;
      make.conv(make.input(shape), 8, 3, 3,
                {{"group", std::int64_t{8}}, {"pads", kPadded}, {"x_zero_point", std::int64_t{5}}});
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
    }
    SECTION("max pooling, " + to_string(shape)) {
      Maker make;
      make.node("MaxPool", "pool", {make.input(shape)},
                {{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                 {"strides", std::vector<std::int64_t>{2, 2}},
                 {"pads", kPadded}});
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
    }
    SECTION("movements, " + to_string(shape)) {
      Maker make;
      const graph::ValueId x = make.input(shape),
                           clipped = make.node("dovetail.qclip", "clip", {x},
                                               {{"y_min", std::int64_t{-30}}, {"y_max", std::int64_t{40}}});
      make.node("Concat", "concat", {x, clipped}, {{"axis", std::int64_t{1}}});
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
    }
  }
}

TEST_CASE("rows of as many pixels as a stride holds, one fewer and one more") {
  const isa::HardwareConfig config = small_blocks();
  for (const std::int64_t beyond : {-1, 0, 1, 2}) {
    const Shape shape{1, 4, 3, most_stride(config) + beyond};
    INFO(to_string(shape));
    Maker make;
    make.conv(make.input(shape), 4, 3, 3, {{"pads", kPadded}});
    test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
  }
}

TEST_CASE("a batch of images that are farther apart than a stride holds") {
  const Shape shape{3, 4, 256, 257};
  Maker make;
  make.conv(make.input(shape), 4, 1, 1, {{"strides", std::vector<std::int64_t>{2, 2}}});
  test::run_on_accelerator(make.graph, small_blocks(), {{"x", make.draw.int8(shape)}});
}

TEST_CASE("a weight buffer deeper than a transfer is long") {
  isa::HardwareConfig config = small_blocks();
  config.name = "1x4x4-weights";
  config.acc_buffer_bytes = 4096;
  config.inp_buffer_bytes = 1024;
  config.wgt_buffer_bytes = std::int64_t{1} << 20;
  REQUIRE(isa::validate(config).ok());
  REQUIRE(config.encoding() == isa::Encoding::compact);
  const accel::LoweringFacts facts(config);
  REQUIRE(config.depth(isa::Memory::wgt) == facts.most_transferred + 1);
  // Weights of 65,535, 65,536 and 65,537 elements, or tiles of them.
  for (const std::int64_t outputs : {1020, 1024, 1028}) {
    const Shape shape{1, 1024, 1, 2};
    INFO(outputs);
    Maker make;
    make.conv(make.input(shape), outputs, 1, 1);
    test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
  }
}

// The compact encoding has no room for that many.
TEST_CASE("accumulators deeper than a loop has trips") {
  isa::HardwareConfig config = small_blocks();
  config.name = "1x4x4-accumulators";
  config.acc_buffer_bytes = std::int64_t{1} << 22;
  REQUIRE(isa::validate(config).ok());
  REQUIRE(config.encoding() == isa::Encoding::wide);
  const accel::LoweringFacts facts(config);
  REQUIRE(config.depth(isa::Memory::acc) > 3 * facts.most_trips);
  for (const std::int64_t beyond : {-1, 0, 1, 2, 2000}) {
    const Shape shape{1, 4, 1, facts.most_trips + beyond};
    INFO(to_string(shape));
    Maker make;
    make.node("dovetail.qclip", "clip", {make.input(shape)},
              {{"y_min", std::int64_t{-30}}, {"y_max", std::int64_t{40}}});
    test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}});
  }
}

TEST_CASE("a layer that exceeds the memory goes to the next target, and the report has both numbers") {
  isa::HardwareConfig config = small_blocks();
  config.address_bits = 20;
  const auto why = [&](const graph::Graph& graph, const Shape& shape) {
    CompileOptions options;
    options.available = test::kit_targets(config);
    options.targets = {"accel"};
    auto compiled = compile({graph, {}}, options);
    INFO((compiled.ok() ? "" : to_string(compiled.errors())));
    REQUIRE(compiled.ok());
    const std::map<std::string, NdArray> inputs{{"x", test::Draw(3).int8(shape)}};
    const auto expected = Reference::make(graph)->run(inputs);
    for (const char* engine : {"functional", "cycle"}) {
      auto executor = runtime::Executor::make(compiled->bundle, *runtime::simulator_factory(engine));
      REQUIRE(executor.ok());
      const auto result = executor->run(inputs);
      INFO((result.ok() ? "" : to_string(result.errors())));
      REQUIRE(result.ok());
      CHECK((result->outputs.begin()->second == expected->begin()->second));
    }
    std::vector<std::string> reasons;
    for (const NodePlacement& node : compiled->placement) reasons.push_back(node.target + ": " + node.why);
    return reasons;
  };
  SECTION("a single operation") {
    const Shape shape{1, 8, 256, 256};
    Maker make;
    make.conv(make.input(shape), 8, 1, 1);
    const std::string reason = why(make.graph, shape).front();
    CHECK(reason.starts_with("host: "));
    CHECK(reason.find("its operands and its result need 1028 KiB of memory, and 1x4x4-ext reaches 1024 KiB") !=
          std::string::npos);
  }
  SECTION("a region whose operations would each fit") {
    const Shape shape{1, 4, 200, 250};
    Maker make;
    graph::ValueId x = make.input(shape);
    x = make.conv(x, 12, 1, 1);
    x = make.conv(x, 4, 1, 1);
    const std::vector<std::string> reasons = why(make.graph, shape);
    REQUIRE(reasons.size() == 2);
    INFO(reasons[0] << "\n" << reasons[1]);
    CHECK(std::ranges::count_if(reasons, [](const std::string& reason) { return reason.starts_with("accel"); }) == 1);
    CHECK(std::ranges::count_if(reasons, [](const std::string& reason) {
            return reason.starts_with("host: ") && reason.find("its region needs ") != std::string::npos &&
                   reason.find("1x4x4-ext reaches 1024 KiB") != std::string::npos;
          }) == 1);
  }
}

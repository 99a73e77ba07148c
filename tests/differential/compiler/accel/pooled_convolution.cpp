// Max-poolings computed from the accumulators of the preceding convolution, compared with the reference.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/property/compiler/random_int8_graph.h"

using namespace dovetail;
using test::RandomInt8Graph;

namespace {

struct Window {
  std::int64_t kernel = 2, stride = 2, pad = 0;
};

struct Drawn {
  RandomInt8Graph random{1, true};
  graph::ValueId convolution, result;
};

// A 3x3 convolution that keeps the image's size, followed by a pooling.
Drawn draw(const Window& window, Shape shape = {1, 6, 12, 12}, std::int64_t outputs = 20) {
  Drawn drawn;
  RandomInt8Graph& random = drawn.random;
  const graph::ValueId x = random.input(shape);
  graph::Attributes attributes = random.epilogue(x);
  attributes["pads"] = std::vector<std::int64_t>(4, 1);
  std::vector<graph::ValueId> inputs{x};
  random.weights(inputs, {outputs, shape[1], 3, 3});
  drawn.convolution = random.add("dovetail.qconv", std::move(inputs), attributes);
  drawn.result = random.add("MaxPool", {drawn.convolution},
                            {{"kernel_shape", std::vector<std::int64_t>(2, window.kernel)},
                             {"strides", std::vector<std::int64_t>(2, window.stride)},
                             {"pads", std::vector<std::int64_t>(4, window.pad)}});
  return drawn;
}

test::Ran run(Drawn drawn, const std::string& config, std::vector<graph::ValueId> others = {}) {
  graph::Graph& graph = drawn.random.graph;
  graph.outputs = std::move(others);
  graph.outputs.push_back(drawn.result);
  const NdArray image = drawn.random.draw.int8(graph.value(graph.inputs[0]).type.shape);
  return test::run_on_accelerator(graph, *isa::load_config(config), {{"x", image}});
}

using Rows = std::map<std::string, std::uint64_t>;
Rows rows_of(Drawn drawn, const std::string& config, std::vector<graph::ValueId> others = {}) {
  return run(std::move(drawn), config, std::move(others)).by_row;
}
const Rows kTogether{{"convolution and max pooling", 1}}, kApart{{"convolution", 1}, {"max pooling", 1}};

}  // namespace

TEST_CASE("a max-pooling is computed from the accumulators of the preceding convolution") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    if (config.name == "tiny") continue;  // no tile fits it
    DYNAMIC_SECTION(config.name) {
      CHECK(rows_of(draw({}), config.name) == kTogether);
      // Windows that share rows, with and without pads: whether computing shared rows again pays depends on the
      // epilogue.
      for (const std::int64_t pad : {0, 1}) {
        const auto rows = rows_of(draw({.kernel = 3, .stride = 2, .pad = pad}, {1, 6, 16, 16}), config.name);
        CHECK((rows == kTogether || (config.requant && rows == kApart)));
      }
    }
  }
}

TEST_CASE("the products of a max-pooling's windows share their tiles of channels, and start without resets") {
  // All channels of one window exceed INP.
  for (const std::string hardware : {"1x16x16-ext", "1x16x16", "4x8x8"}) {
    DYNAMIC_SECTION(hardware) {
      const test::Ran ran = run(draw({}, {1, 120, 12, 12}), hardware + ",inp_buffer_bytes=2048");
      CHECK(ran.by_row == kTogether);
      CHECK((ran.resets == 0) == (hardware == "1x16x16-ext"));
    }
  }
}

TEST_CASE("a max-pooling stays separate where too many accumulators would be computed twice") {
  // Windows that share two of three rows, and an ACC for a few rows of an image.
  CHECK(rows_of(draw({.kernel = 3, .stride = 2}, {1, 200, 9, 9}), "1x16x16-ext,acc_buffer_bytes=2048") == kApart);
}

TEST_CASE("a max-pooling is not fused where others read the accumulators, or where the epilogue reverses their order") {
  SECTION("read by others") {
    const Drawn drawn = draw({});
    CHECK(rows_of(drawn, "1x16x16-ext", {drawn.convolution}) == kApart);
  }
  SECTION("a negative scale") {
    Drawn drawn = draw({});
    graph::Graph& graph = drawn.random.graph;
    const graph::ValueId scale = graph.node(graph.value(drawn.convolution).producer).inputs[3];
    graph.value(scale).constant->data<float>()[1] *= -1;
    CHECK(rows_of(drawn, "1x16x16-ext") == kApart);
  }
  SECTION("accumulators that wrap") {
    Drawn drawn = draw({});
    graph::Graph& graph = drawn.random.graph;
    const graph::ValueId bias = graph.node(graph.value(drawn.convolution).producer).inputs[2];
    for (std::int32_t& number : graph.value(bias).constant->data<std::int32_t>()) number = 2147200000;
    CHECK(rows_of(drawn, "1x16x16-ext") == kApart);
  }
  SECTION("windows that are beyond the image but for elements that others share") {
    CHECK(rows_of(draw({.kernel = 2, .stride = 2, .pad = 1}), "1x16x16-ext") == kApart);
  }
  SECTION("windows that share all but one row") {
    CHECK(rows_of(draw({.kernel = 3, .stride = 1}), "1x16x16-ext") == kApart);
  }
}

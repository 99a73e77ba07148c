// Weights of 4 bits on the extension `weights4`, bit for bit the reference's, with half the bytes.
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

// A convolution whose weights are from -8 to `most`; depthwise: of each channel alone.
graph::Graph convolution(test::Draw& draw, std::int64_t most, bool depthwise) {
  test::Int8GraphMaker maker;
  const std::int64_t in = 40, out = depthwise ? in : 24;
  NdArray weights(DType::int8, {out, depthwise ? 1 : in, 3, 3}), bias(DType::int32, {out}),
      scale(DType::float32, {out});
  for (auto& value : weights.data<std::int8_t>()) value = static_cast<std::int8_t>(draw.between(-8, 7));
  weights.data<std::int8_t>()[5] = static_cast<std::int8_t>(most);
  for (auto& value : bias.data<std::int32_t>()) value = static_cast<std::int32_t>(draw.between(-900, 900));
  for (auto& value : scale.data<float>()) value = 0.05f + 0.0001f * static_cast<float>(draw.between(0, 500));
  maker.weighted("dovetail.qconv", "conv", maker.input({1, in, 9, 8}), std::move(weights), std::move(bias),
                 std::move(scale),
                 {{"group", depthwise ? in : std::int64_t{1}},
                  {"pads", std::vector<std::int64_t>(4, 1)},
                  {"x_zero_point", std::int64_t{3}},
                  {"y_zero_point", std::int64_t{-7}}});
  return maker.graph;
}

}  // namespace

TEST_CASE("accel: weights of 4 bits are loaded as such, where all of them fit") {
  test::Draw draw(4);
  int other_schedules = 0;
  for (isa::HardwareConfig config : isa::named_configs()) {
    config.weights4 = false;
    for (const bool depthwise : {false, true}) {
      const graph::Graph fits = convolution(draw, 7, depthwise), large = convolution(draw, 8, depthwise);
      const std::map<std::string, NdArray> inputs{{"x", draw.int8({1, 40, 9, 8})}};
      const auto demand = test::Demand::what_fits;
      const test::Ran before = test::run_on_accelerator(fits, config, inputs, demand);
      CHECK(before.int4_bytes == 0);
      config.weights4 = true;
      const test::Ran after = test::run_on_accelerator(fits, config, inputs, demand);
      CHECK((after.int4_bytes > 0) == (before.weight_bytes > 0));
      // Other LOADs of WGT only have parameters of epilogues. A schedule may load weights more often, as they are
      // fewer.
      if (!config.epilogue) CHECK(after.weight_bytes == 0);
      else if (before.weight_bytes > 0) CHECK(after.weight_bytes < before.weight_bytes);
      CHECK(after.weight_bytes + 2 * after.int4_bytes >= before.weight_bytes);
      other_schedules += after.weight_bytes + 2 * after.int4_bytes == before.weight_bytes ? 0 : 1;
      CHECK(test::run_on_accelerator(large, config, inputs, demand).int4_bytes == 0);
      config.weights4 = false;
    }
  }
  CHECK(other_schedules <= 1);  // of 22: all others load exactly half of the bytes
}

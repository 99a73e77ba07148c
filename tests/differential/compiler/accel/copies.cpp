// Operators that copy through ACC (Clip, Concat), and additions of constants, between convolutions whose borders their
// tensors carry.
#include <utility>

#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

struct Maker : test::Int8GraphMaker {
  test::Draw draw{7};

  // 3 x 3 with a border of 5, the input's zero point.
  graph::ValueId conv(const std::string& name, graph::ValueId x, std::int64_t outputs) {
    const std::int64_t inputs = graph.value(x).type.shape[1];
    NdArray bias(DType::int32, {outputs}), scale(DType::float32, {outputs});
    for (auto& value : scale.data<float>()) value = 0x1p-9f;
    return weighted("dovetail.qconv", name, x, draw.int8({outputs, inputs, 3, 3}), std::move(bias), std::move(scale),
                    {{"x_zero_point", std::int64_t{5}},
                     {"y_zero_point", std::int64_t{5}},
                     {"pads", std::vector<std::int64_t>(4, 1)}});
  }
};

}  // namespace

TEST_CASE("clips and concatenations at block borders copy through ACC") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const std::int64_t batch : {1, 3}) {
      Maker make;
      const Shape shape{batch, 5, 6, 7};
      const graph::ValueId x = make.input(shape), a = make.conv("a", x, 32), b = make.conv("b", x, 64),
                           c = make.conv("c", x, 3);
      const graph::ValueId clipped =
          make.node("dovetail.qclip", "clip", {b}, {{"y_min", std::int64_t{-30}}, {"y_max", std::int64_t{40}}});
      make.conv("last", make.node("Concat", "concat", {a, clipped, c}, {{"axis", std::int64_t{1}}}), 4);
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
    }
}

TEST_CASE("a constant of each channel, or one, is added on the accelerator") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const auto& [constant, first] : {std::pair(Shape{}, true), std::pair(Shape{20, 1, 1}, false)}) {
      Maker make;
      const Shape shape{2, 20, 3, 4};
      const graph::ValueId x = make.input(shape), k = make.graph.add_constant("k", make.draw.int8(constant));
      make.node("dovetail.qadd", "add", first ? std::vector{k, x} : std::vector{x, k},
                {{"a_zero_point", std::int64_t{-3}},
                 {"b_zero_point", std::int64_t{8}},
                 {"a_multiplier", 40000.5},
                 {"b_multiplier", -30000.25},
                 {"shift", std::int64_t{16}},
                 {"y_zero_point", std::int64_t{2}},
                 {"y_max", std::int64_t{90}}});
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
    }
}

TEST_CASE("the report says why a concatenation stays on the host") {
  const auto why = [](std::int64_t first_channels, std::int64_t axis) {
    test::Int8GraphMaker make;
    const graph::ValueId x = make.input({1, first_channels, 4, 4});
    const auto clip = [&](const char* name, std::int64_t least) {
      return make.node("dovetail.qclip", name, {x}, {{"y_min", least}, {"y_max", std::int64_t{90}}});
    };
    make.node("Concat", "concat", {clip("a", -3), clip("b", -9)}, {{"axis", axis}});
    CompileOptions options;
    options.available = test::kit_targets({}, "interpreter");
    options.targets = {"accel"};
    options.stop_after = "partition";
    const auto compiled = compile({make.graph, {}}, options);
    REQUIRE(compiled.ok());
    for (const NodePlacement& row : compiled->placement)
      if (row.node == "concat") return row.target + ": " + row.why;
    return std::string();
  };
  CHECK(why(20, 1) == "host: its part 1 begins at channel 20, blocks have 16");
  CHECK(why(16, 2) == "host: it concatenates along axis 2, the accelerator along channels");
  CHECK(why(16, -3).starts_with("accel"));
}

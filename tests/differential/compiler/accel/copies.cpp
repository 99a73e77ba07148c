// Operators that copy through ACC (Clip, and movements), additions of constants, and products, between convolutions
// whose borders their tensors carry.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "compiler/passes/list.h"
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"
#include "tests/text/compiler/passes/make_graph.h"
#include "tests/tier.h"

using namespace dovetail;

namespace {

struct CopyMaker : test::Int8GraphMaker {
  test::Draw draw{7};

  // A convolution of 3 x 3 with a border of the input's zero point.
  graph::ValueId conv(const std::string& name, graph::ValueId x, std::int64_t outputs, std::int64_t zero_point = 5) {
    const std::int64_t inputs = graph.value(x).type.shape[1];
    NdArray bias(DType::int32, {outputs}), scale(DType::float32, {outputs});
    for (auto& value : scale.data<float>()) value = 0x1p-9f;
    return weighted(
        "dovetail.qconv", name, x, draw.int8({outputs, inputs, 3, 3}), std::move(bias), std::move(scale),
        {{"x_zero_point", zero_point}, {"y_zero_point", std::int64_t{5}}, {"pads", std::vector<std::int64_t>(4, 1)}});
  }
};

}  // namespace

TEST_CASE("accel: clips, and concatenations at block borders, copy through ACC") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const std::int64_t batch : {1, 3}) {
      CopyMaker make;
      const Shape shape{batch, 5, 6, 7};
      const graph::ValueId x = make.input(shape), a = make.conv("a", x, 32), b = make.conv("b", x, 64),
                           c = make.conv("c", x, 3);
      const graph::ValueId clipped =
          make.node("dovetail.qclip", "clip", {b}, {{"y_min", std::int64_t{-30}}, {"y_max", std::int64_t{40}}});
      make.conv("last", make.node("Concat", "concat", {a, clipped, c}, {{"axis", std::int64_t{1}}}), 4);
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
    }
}

TEST_CASE("accel: a constant of each channel, or one constant for all, is added on the accelerator") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const auto& [constant, first] : {std::pair(Shape{}, true), std::pair(Shape{20, 1, 1}, false)}) {
      CopyMaker make;
      const Shape shape{2, 20, 3, 4};
      const graph::ValueId x = make.input(shape), k = make.graph.add_constant("k", make.draw.int8(constant));
      make.node("dovetail.qadd", "add", first ? std::vector{k, x} : std::vector{x, k},
                {{"a_zero_point", std::int64_t{-3}},
                 {"b_zero_point", std::int64_t{8}},
                 {"a_multiplier", 40000.5},
                 {"b_multiplier", -30000.25},
                 {"scale", 0x1p-16},
                 {"y_zero_point", std::int64_t{2}},
                 {"y_max", std::int64_t{90}}});
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
    }
}

TEST_CASE("accel: products of tensors, and of an image and a value for each channel") {
  struct Case {
    Shape shape;
    bool vector;
  };
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const Case& each : {Case{{2, 20, 6, 7}, false}, Case{{2, 20, 6, 7}, true}, Case{{1, 33, 4, 3}, true},
                             Case{{1, 16, 1, 1}, true}, Case{{1, 40, 28, 17}, true}, Case{{3, 24}, false}})
      for (const double scale : {0.0078125, 0.00390625}) {
        INFO(config.name << " " << to_string(each.shape) << (each.vector ? ", vector, " : ", ") << scale);
        CopyMaker make;
        const graph::ValueId x = make.input(each.shape);
        std::map<std::string, NdArray> values{{"x", make.draw.int8(each.shape)}};
        Shape other = each.shape;
        if (each.vector) other[2] = other[3] = 1;
        const graph::ValueId b = make.graph.add_value("b", {DType::int8, other});
        make.graph.inputs.push_back(b);
        values.emplace("b", make.draw.int8(other));
        const bool swapped = scale != 0.0078125;
        const graph::ValueId y = make.node("dovetail.qmul", "product", swapped ? std::vector{b, x} : std::vector{x, b},
                                           {{swapped ? "b_zero_point" : "a_zero_point", std::int64_t{-3}},
                                            {swapped ? "a_zero_point" : "b_zero_point", std::int64_t{127}},
                                            {"scale", scale},
                                            {"y_zero_point", std::int64_t{5}},
                                            {"y_max", std::int64_t{90}}});
        if (each.shape.size() == 4) make.conv("last", y, 4);
        const test::Ran ran = test::run_on_accelerator(make.graph, config, values, test::Demand::what_fits);
        CHECK((config.name == "tiny" || ran.by_row.at("product") == 1));
      }
}

TEST_CASE("accel: products of a tensor and a constant") {
  struct Case {
    Shape shape, constant;
  };
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const Case& each :
         {Case{{2, 20, 6, 7}, {20, 1, 1}}, Case{{2, 20, 6, 7}, {6, 7}}, Case{{1, 33, 4, 3}, {1, 33, 4, 3}},
          Case{{3, 24}, {24}}, Case{{3, 24}, {3, 1}}, Case{{1, 5, 40}, {5, 40}}, Case{{2, 3, 40}, {3, 40}}})
      for (const bool first : {false, true}) {
        INFO(config.name << " " << to_string(each.shape) << " and " << to_string(each.constant));
        CopyMaker make;
        const graph::ValueId x = make.input(each.shape),
                             k = make.graph.add_constant("k", make.draw.int8(each.constant));
        const graph::ValueId y = make.node("dovetail.qmul", "product", first ? std::vector{k, x} : std::vector{x, k},
                                           {{first ? "a_zero_point" : "b_zero_point", std::int64_t{-3}},
                                            {first ? "b_zero_point" : "a_zero_point", std::int64_t{11}},
                                            {"scale", 0.00390625},
                                            {"y_zero_point", std::int64_t{5}}});
        if (each.shape.size() == 4) make.conv("last", y, 4);
        const test::Ran ran =
            test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(each.shape)}}, test::Demand::what_fits);
        CHECK((config.name == "tiny" || ran.by_row.at("product") == 1));
      }
}

TEST_CASE("accel: products with other shapes stay on the host with a reason") {
  const auto why = [](const Shape& other, bool constant) {
    CopyMaker make;
    const graph::ValueId x = make.input(constant ? Shape{2, 1, 6, 7} : Shape{2, 20, 6, 7});
    graph::ValueId b;
    if (constant) {
      b = make.graph.add_constant("b", make.draw.int8(other));
    } else {
      b = make.graph.add_value("b", {DType::int8, other});
      make.graph.inputs.push_back(b);
    }
    make.node("dovetail.qmul", "product", {x, b}, {{"scale", 0.0078125}});
    CompileOptions options;
    options.available = test::kit_targets({}, "interpreter");
    options.targets = {"accel"};
    options.stop_after = "partition";
    const auto compiled = compile({make.graph, {}}, options);
    REQUIRE(compiled.ok());
    return compiled->placement.front().target + ": " + compiled->placement.front().why;
  };
  CHECK(why({2, 20, 1, 1}, false).starts_with("accel"));
  const std::string rule =
      "; the accelerator multiplies equal shapes, an image or the rows of a matrix by a value for each channel, or a "
      "tensor by a constant";
  CHECK(why({2, 1, 6, 7}, false) == "host: its operands have the shapes [2, 20, 6, 7] and [2, 1, 6, 7]" + rule);
  CHECK(why({2, 20, 1, 1}, true) == "host: its operands have the shapes [2, 1, 6, 7] and [2, 20, 1, 1]" + rule);
}

namespace {

graph::ValueId integers(CopyMaker& make, const std::vector<std::int64_t>& values) {
  return make.graph.add_constant("k", NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}
graph::ValueId slice(CopyMaker& make, graph::ValueId x, const std::vector<std::int64_t>& starts,
                     const std::vector<std::int64_t>& ends, const std::vector<std::int64_t>& steps) {
  return make.node("Slice", "slice",
                   {x, integers(make, starts), integers(make, ends), integers(make, {1, 2, 3}), integers(make, steps)},
                   {});
}
graph::ValueId reordered(CopyMaker& make, graph::ValueId x, const std::vector<std::int64_t>& apart,
                         const std::vector<std::int64_t>& order, const std::vector<std::int64_t>& whole) {
  x = make.node("Reshape", "apart", {x, integers(make, apart)}, {});
  x = make.node("Transpose", "order", {x}, {{"perm", order}});
  return make.node("Reshape", "whole", {x, integers(make, whole)}, {});
}
graph::ValueId resized(CopyMaker& make, graph::ValueId x, const std::vector<std::int64_t>& sizes) {
  return make.node("Resize", "resize", {x, {}, {}, integers(make, sizes)}, {});
}
graph::ValueId padded(CopyMaker& make, graph::ValueId x, const std::vector<std::int64_t>& pads, const char* mode) {
  return make.node("Pad", "pad",
                   {x, integers(make, pads), make.graph.add_constant("v", NdArray::scalar(std::int8_t{5}))},
                   {{"mode", std::string(mode)}});
}
graph::ValueId concatenated(CopyMaker& make, const std::vector<graph::ValueId>& parts, std::int64_t axis) {
  return make.node("Concat", make.graph.unique_node_name("concat"), parts, {{"axis", axis}});
}

// Movements of x [n, 36, 6, 8] and y [n, 5, 6, 8], both computed on the accelerator.
struct Movement {
  const char* name;
  graph::ValueId (*make)(CopyMaker& make, graph::ValueId x, graph::ValueId y, std::int64_t n);
};
using Id = graph::ValueId;
const Movement kMovements[] = {
    {"parts of any width",
     [](CopyMaker& m, Id x, Id y, std::int64_t) {
       return concatenated(m, {y, x, y, y, x}, 1);
     }},
    {"a constant part",
     [](CopyMaker& m, Id x, Id, std::int64_t n) {
       return concatenated(m, {x, m.graph.add_constant("zero", NdArray(DType::int8, {n, 7, 6, 8}))}, 1);
     }},
    {"along rows",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return concatenated(m, {x, x}, 2);
     }},
    {"along columns",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return concatenated(m, {x, x, x}, 3);
     }},
    {"channels cut out",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return slice(m, x, {3, 1, 0}, {25, 6, 8}, {1, 1, 1});
     }},
    {"channels in another order",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return slice(m, x, {35, 0, 1}, {-100, 6, 8}, {-2, 2, 3});
     }},
    {"pads",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return padded(m, x, {0, 0, 2, 1, 0, 0, 0, 3}, "constant");
     }},
    {"edges",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return padded(m, x, {0, 0, 1, 2, 0, 0, 2, 0}, "edge");
     }},
    {"mirrored",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return padded(m, x, {0, 0, 1, 0, 0, 0, 1, 2}, "reflect");
     }},
    {"twice as large",
     [](CopyMaker& m, Id x, Id, std::int64_t n) {
       return resized(m, x, {n, 36, 12, 16});
     }},
    {"any size",
     [](CopyMaker& m, Id x, Id, std::int64_t n) {
       return resized(m, x, {n, 36, 9, 5});
     }},
    {"depth to space, blocks of channels",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return m.node("DepthToSpace", "move", {x}, {{"blocksize", std::int64_t{2}}, {"mode", std::string("DCR")}});
     }},
    {"depth to space, neighbors",
     [](CopyMaker& m, Id x, Id, std::int64_t) {
       return m.node("DepthToSpace", "move", {x}, {{"blocksize", std::int64_t{3}}, {"mode", std::string("CRD")}});
     }},
    {"space to depth",
     [](CopyMaker& m, Id x, Id y, std::int64_t) {
       return m.node("SpaceToDepth", "move", {m.draw.coin() ? x : y}, {{"blocksize", std::int64_t{2}}});
     }},
    {"shuffled",
     [](CopyMaker& m, Id x, Id, std::int64_t n) {
       return reordered(m, x, {n, 3, 12, 6, 8}, {0, 2, 1, 3, 4}, {n, 36, 6, 8});
     }},
    {"phases side by side",
     [](CopyMaker& m, Id x, Id, std::int64_t n) {
       return slice(m, reordered(m, x, {n, 9, 2, 2, 6, 8}, {0, 1, 4, 2, 5, 3}, {n, 9, 12, 16}), {0, 1, 0}, {9, 12, 15},
                    {1, 1, 1});
     }},
};

// The named configurations, and blocks of both unequal kinds with the extensions.
std::vector<isa::HardwareConfig> machines() {
  const auto named = isa::named_configs();
  std::vector<isa::HardwareConfig> all(named.begin(), named.end());
  for (const std::int64_t block_out : {8, 32}) {
    isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
    config.block_out = block_out;
    config.name = block_out == 8 ? "1x16x8-ext" : "1x16x32-ext";
    all.push_back(config);
  }
  return all;
}

}  // namespace

TEST_CASE("accel: operators that move values equal the reference") {
  for (const isa::HardwareConfig& config : machines())
    for (const Movement& movement : kMovements) {
      if (!test::is_judged(config.name + movement.name, 2)) continue;
      DYNAMIC_SECTION(config.name << ", " << movement.name) {
        const std::int64_t n = config.batch > 1 ? 3 : 1;
        CopyMaker make;
        const Shape shape{n, 3, 6, 8};
        const graph::ValueId x = make.input(shape), a = make.conv("a", x, 36), b = make.conv("b", x, 5);
        // Another zero point than the one that "pads" writes: with the same one the pad would become the convolution's.
        make.conv("last", movement.make(make, a, b, n), 4, 6);
        const test::Ran ran =
            test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
        if (config.name == "tiny") continue;
        CHECK(ran.by_row.count("movement") + ran.by_row.count("movement of parts") == 1);
      }
    }
}

TEST_CASE("accel: parts that are concatenated or cut out at block borders are not copied") {
  const isa::HardwareConfig config = *isa::load_config("1x16x16-ext");
  const Shape shape{1, 5, 6, 7};
  // A tensor that other nodes read too is stored separately, so it is copied.
  const auto cycles = [&](bool cuts, bool others_read) {
    CopyMaker make;
    const graph::ValueId x = make.input(shape);
    graph::ValueId part, y;
    if (cuts) {
      part = slice(make, make.conv("a", x, 96), {32, 0, 0}, {96, 6, 7}, {1, 1, 1});
      y = make.conv("last", part, 4);
    } else {
      part = make.conv("a", x, 64);
      y = make.conv("last", concatenated(make, {make.conv("b", x, 32), part}, 1), 4);
    }
    make.graph.outputs = others_read ? std::vector{y, part} : std::vector{y};
    return test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}).cycles;
  };
  CHECK(cycles(false, false) < cycles(false, true));
  CHECK(cycles(true, false) < cycles(true, true));
}

TEST_CASE("accel: a Split runs part by part") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{32, 64}, {20, 76}})
      DYNAMIC_SECTION(config.name << ", " << sizes[0]) {
        const std::int64_t n = config.batch > 1 ? 3 : 1;
        CopyMaker make;
        const Shape shape{n, 5, 6, 7};
        graph::Node split;
        split.name = "split";
        split.op = "Split";
        split.inputs = {make.conv("a", make.input(shape), 96), integers(make, sizes)};
        split.attributes = {{"axis", std::int64_t{1}}};
        split.origins = {"split"};
        for (const char* name : {"left", "right"}) split.outputs.push_back(make.graph.add_value(name, {}));
        const std::vector<graph::ValueId> parts = split.outputs;
        REQUIRE(ops::infer(make.graph, make.graph.add_node(std::move(split))).ok());
        const graph::ValueId left = make.conv("left", parts[0], 4), right = make.conv("right", parts[1], 4);
        make.graph.outputs = {left, right};
        const bool takes_it = true;
        const test::Ran ran = test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}},
                                                       takes_it ? test::Demand::what_fits : test::Demand::none);
        if (takes_it && config.name != "tiny") CHECK(ran.by_row.at("movement") == 1);
      }
}

TEST_CASE("accel: a depth-to-space whose result leaves the accelerator costs no cycles there") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const auto& [channels, mode] : {std::pair(1, "DCR"), std::pair(5, "DCR"), std::pair(5, "CRD")})
      DYNAMIC_SECTION(config.name << ", " << channels << " " << mode) {
        const std::int64_t n = config.batch > 1 ? 3 : 1;
        const Shape shape{n, 3, 6, 8};
        enum class Last { conv, moved, moved_and_read };
        const auto run = [&](Last last) {
          CopyMaker make;
          const graph::ValueId a = make.conv("a", make.input(shape), 9 * channels);
          std::vector<graph::ValueId> outputs{a};
          if (last != Last::conv)
            outputs = {
                make.node("DepthToSpace", "move", {a}, {{"blocksize", std::int64_t{3}}, {"mode", std::string(mode)}})};
          // The operand is stored for its other readers.
          if (last == Last::moved_and_read)
            outputs.push_back(make.node("dovetail.qclip", "clip", {a}, {{"y_max", std::int64_t{40}}}));
          make.graph.outputs = outputs;
          const bool takes_it = config.name != "tiny";
          return test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}},
                                          takes_it ? test::Demand::what_fits : test::Demand::none);
        };
        const test::Ran conv = run(Last::conv), moved = run(Last::moved), both = run(Last::moved_and_read);
        if (moved.by_row.count("movement") == 1) CHECK(moved.cycles == conv.cycles);
        CHECK(both.cycles >= moved.cycles);
      }
}

TEST_CASE("accel: tensors stored within others have the borders that all readers need") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const std::int64_t other_zero_point : {5, -7}) {
      // Each result is concatenated with all earlier results, and a part is cut out again.
      CopyMaker make;
      const Shape shape{1, 3, 7, 6};
      const graph::ValueId x = make.input(shape), a = make.conv("a", x, 32),
                           b = make.conv("b", a, 32, other_zero_point), ab = concatenated(make, {a, b}, 1),
                           c = make.conv("c", ab, 64), abc = concatenated(make, {ab, c}, 1),
                           cut = slice(make, abc, {32, 0, 0}, {96, 7, 6}, {1, 1, 1}),
                           twice = concatenated(make, {cut, c, c}, 1);
      const graph::ValueId y = make.conv("y", abc, 4), z = make.conv("z", cut, 4, other_zero_point),
                           last = make.conv("last", twice, 4);
      make.graph.outputs = {y, z, last};
      INFO("zero point " << other_zero_point);
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
    }
}

TEST_CASE("accel: a quantized transposed convolution runs as a convolution whose phases are moved") {
  for (const isa::HardwareConfig& config : isa::named_configs()) DYNAMIC_SECTION(config.name) {
      test::GraphMaker make;
      test::Draw draw{3};
      const Shape shape{config.batch, 5, 4, 6};
      NdArray scales(DType::float32, {7});
      for (std::size_t o = 0; o < 7; ++o) scales.data<float>()[o] = 0.003f + 0.0004f * static_cast<float>(o);
      const graph::ValueId x = make.dequantize("x_dq", make.input("x", DType::int8, shape), 0.03f, 4),
                           w = make.node("DequantizeLinear", "w_dq",
                                         {make.constant("w", draw.int8({5, 7, 3, 3})), make.constant("ws", scales)},
                                         {{"axis", std::int64_t{1}}});
      const graph::ValueId y = make.node("ConvTranspose", "up", {x, w},
                                         {{"strides", std::vector<std::int64_t>{2, 2}},
                                          {"pads", std::vector<std::int64_t>(4, 1)},
                                          {"output_padding", std::vector<std::int64_t>{1, 1}}});
      make.output(make.quantize("y", make.node("Relu", "relu", {y}), 0.04f, -90));
      const auto lowered = passes::lower_qdq(make.graph);
      REQUIRE(lowered.ok());
      // The shuffles of the phases as the pipeline leaves them.
      const test::Ran ran =
          test::run_on_accelerator(make.graph, config, {{"x", draw.int8(shape)}}, test::Demand::what_fits);
      if (config.name == "tiny") continue;
      CHECK(ran.by_row.at("convolution") == 1);
      CHECK(ran.by_row.at("movement of parts") == 1);
    }
}

TEST_CASE("accel: tables of two lines are computed") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const std::int64_t tables : {1, 20}) {
      CopyMaker make;
      const Shape shape{2, 20, 3, 4};
      NdArray table(DType::int8, tables == 1 ? Shape{256} : Shape{tables, 256});
      for (std::int64_t i = 0; i < table.count(); ++i) {
        const double x = static_cast<double>(i % 256 - 128 + 7), slope = 0.0113 * static_cast<double>(i / 256 + 3);
        table.set_int64(
            i, std::clamp<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(x < 0 ? slope * x : 1.37 * x)) - 11,
                                        -128, 127));
      }
      graph::Attributes attributes;
      if (tables > 1) attributes["axis"] = std::int64_t{1};
      const graph::ValueId x = make.input(shape);
      make.conv("last",
                make.node("dovetail.qtable", "leaky", {make.conv("first", x, 20), make.graph.add_constant("t", table)},
                          attributes),
                4);
      const test::Ran ran =
          test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::what_fits);
      // One table is part of the convolution before, where there is the extension for it.
      const char* const row = config.table && tables == 1 ? "convolution and table" : "piecewise linear table";
      CHECK((config.name == "tiny" || ran.by_row.at(row) == 1));
    }
}

TEST_CASE("accel: the report says why an operator that moves values stays on the host") {
  const auto why = [](const std::function<void(CopyMaker&, graph::ValueId)>& build, const isa::HardwareConfig& config) {
    CopyMaker make;
    build(make, make.input({2, 20, 9, 4}));
    CompileOptions options;
    options.available = test::kit_targets(config, "interpreter");
    options.targets = {"accel"};
    options.stop_after = "partition";
    const auto compiled = compile({make.graph, {}}, options);
    REQUIRE(compiled.ok());
    for (const NodePlacement& row : compiled->placement)
      if (row.node == "move") return row.target + ": " + row.why;
    return std::string();
  };
  const auto clip = [](CopyMaker& make, const char* name, graph::ValueId x, std::int64_t least) {
    return make.node("dovetail.qclip", name, {x}, {{"y_min", least}, {"y_max", std::int64_t{90}}});
  };
  const auto concat = [&](std::int64_t axis) {
    return [&, axis](CopyMaker& make, graph::ValueId x) {
      make.node("Concat", "move", {clip(make, "a", x, -3), clip(make, "b", x, -9)}, {{"axis", axis}});
    };
  };
  CHECK(why(concat(-3), {}).starts_with("accel"));
  CHECK(why(concat(0), {}) == "host: its elements move along the batch");
  CHECK(why(
            [](CopyMaker& make, graph::ValueId x) {
              make.node("Transpose", "move", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
            },
            {}) == "host: it transposes an image; its copies would have more than 64 parts");
  CHECK(why(
            [](CopyMaker& make, graph::ValueId x) {
              make.node("Concat", "move", {x, make.graph.add_constant("c", make.draw.int8({2, 4, 9, 4}))},
                        {{"axis", std::int64_t{1}}});
            },
            {}) == "host: its pixels are not in a regular order");
  CHECK(why(
            [](CopyMaker& make, graph::ValueId x) {
              NdArray ones(DType::int8, {2, 4, 9, 4});
              for (auto& value : ones.data<std::int8_t>()) value = 1;
              make.node("Concat", "move", {x, make.graph.add_constant("c", std::move(ones))},
                        {{"axis", std::int64_t{1}}});
            },
            {}) == "host: a block of channels has both constants and values");
}

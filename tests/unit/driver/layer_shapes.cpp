// Layers by shape: the three forms in which they are given, what is refused and where, and the network that is built.
#include <random>

#include <fmt/format.h>

#include "compiler/export/onnx.h"
#include "compiler/reference/reference.h"
#include "compiler/shapes/build_layers.h"
#include "compiler/shapes/layer_text.h"
#include "compiler/shapes/topology_csv.h"
#include "driver/model_source.h"
#include "driver/shapes/layer_yaml.h"
#include "tests/catch.h"
#include "tests/fuzz/mutate_bytes.h"
#include "tests/skip.h"

using namespace dovetail;
using namespace dovetail::shapes;
using Catch::Matchers::ContainsSubstring;

namespace {

template <typename T>
std::string errors(const Result<T>& result) {
  return result.ok() ? "" : to_string(result.errors());
}

std::string text_of(std::string_view layer) {
  const auto parsed = parse_layer(layer);
  return parsed.ok() ? to_string(parsed->operation) : errors(parsed);
}

Layer only(const Result<std::vector<Layer>>& layers) {
  if (!layers.ok()) FAIL(errors(layers));
  REQUIRE(layers->size() == 1);
  return layers->front();
}

constexpr std::string_view kConvolutions =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n";

bool has_yaml() {
  return errors(driver::read_layer_yaml("a: 1", "f.yaml")).find("no YAML library") == std::string::npos;
}

}  // namespace

TEST_CASE("layers as text are read and printed") {
  CHECK(text_of("conv 64x56x56 -> 64 k3 s1") == "conv 64x56x56 -> 64 k3 s1");
  CHECK(text_of(" conv 2x64x56x56 -> 64 k1 ") == "conv 2x64x56x56 -> 64 k1 s1");
  CHECK(text_of("conv 3x224x224 -> 64 s2 k7 p3 bias relu") == "conv 3x224x224 -> 64 k7 s2 p3 bias relu");
  CHECK(text_of("conv 8x9x10 -> 4 k1x3 s2x1 p0x1 d1x2 g2") == "conv 8x9x10 -> 4 k1x3 s2x1 p0x1 d1x2 g2");
  CHECK(text_of("depthwise 32x16x16 k3 psame") == "conv 32x16x16 -> 32 k3 s1 p1 g32");
  // 224 / 2 = 112 results need (112 - 1) * 2 + 3 = 225 rows: one pad, at the end.
  CHECK(text_of("conv 3x224x224 -> 8 k3 s2 psame") == "conv 3x224x224 -> 8 k3 s2 p0x0x1x1");
  CHECK(text_of("dense 128x768 -> 3072 relu") == "gemm 128x768 -> 3072 relu");
  CHECK(text_of("attention heads=12 seq=128 dim=64") == "attention heads=12 seq=128 dim=64");
  CHECK(text_of("attention seq=1 keys=256 heads=6 dim=48") == "attention heads=6 seq=1 keys=256 dim=48");
  CHECK(text_of("maxpool 64x112x112 k3 s2 p1") == "maxpool 64x112x112 k3 s2 p1");
  CHECK(text_of("avgpool 512x7x7") == "avgpool 512x7x7 k7 s1");
  CHECK(text_of("add 64x56x56") == "add 64x56x56");
  CHECK(parse_layer("stem : conv 3x8x8 -> 4 k3")->name == "stem");
  const std::vector<Layer> layers = named({*parse_layer("conv 1x8x8 -> 1 k3"), *parse_layer("a: add 4"),
                                           *parse_layer("conv 2x8x8 -> 1 k3"), *parse_layer("a: add 5")});
  CHECK(layers[0].name == "conv");
  CHECK(layers[1].name == "a");
  CHECK(layers[2].name == "conv_2");
  CHECK(layers[3].name == "a_2");
}

TEST_CASE("a layer that cannot be read is refused at its character") {
  CHECK_THAT(text_of(""), ContainsSubstring("character 1): the layer is empty"));
  CHECK_THAT(text_of("convolution 3x4"), ContainsSubstring("\"convolution\" is not a kind of layer") &&
                                             ContainsSubstring("conv, depthwise, gemm (or dense), attention") &&
                                             ContainsSubstring("for example \"conv 64x56x56 -> 64 k3 s1 p1\""));
  CHECK_THAT(text_of("conv 64x56 -> 64 k3"), ContainsSubstring("character 6") && ContainsSubstring("has 2 extents"));
  CHECK_THAT(text_of("conv 64x56x56 64 k3"), ContainsSubstring("character 15): \"->\" is expected here"));
  CHECK_THAT(text_of("conv 64x56x56 -> k3"),
             ContainsSubstring("character 18): the number of filters must be a number"));
  CHECK_THAT(text_of("conv 64x56x56 -> 64"), ContainsSubstring("the kernel is missing"));
  CHECK_THAT(text_of("conv 64x56x56 -> 64 k3 k3"), ContainsSubstring("character 24): 'k' is given twice"));
  CHECK_THAT(text_of("conv 64x56x56 -> 64 k3 z1"), ContainsSubstring("the settings are k, s, p, d, g, bias, relu"));
  CHECK_THAT(text_of("conv 64x56x56 -> 64 k3 p1x1x1"), ContainsSubstring("have 3 numbers, and must have 1, 2 or 4"));
  CHECK_THAT(text_of("conv 64x56x56 -> 64 k3y"), ContainsSubstring("'y' cannot follow a number"));
  CHECK_THAT(text_of("conv 99999999999999999999x1x1 -> 1 k1"), ContainsSubstring("the number is too large"));
  CHECK_THAT(text_of("conv 64x2x2 -> 64 k3"), ContainsSubstring("the kernel reaches over 3 rows > 2"));
  CHECK_THAT(text_of("conv 64x8x8 -> 64 k0"), ContainsSubstring("is 0, and must be from 1 to 1048576"));
  CHECK_THAT(text_of("conv 6x8x8 -> 8 k3 g4"), ContainsSubstring("4 groups"));
  CHECK_THAT(text_of("gemm 1048576x1048576 -> 1"), ContainsSubstring("1048576 x 1048576 elements > 268435456"));
  CHECK_THAT(text_of("attention heads=2 dim=4"), ContainsSubstring("seq= is missing"));
  CHECK_THAT(text_of("attention heads=2 seq=4 width=4"),
             ContainsSubstring("\"width=4\" is not a setting of attention"));
  CHECK_THAT(text_of("maxpool 4x8x8 k2 p2"), ContainsSubstring("a pad of 2 is not below the kernel's 2"));
  CHECK_THAT(text_of(": add 4"), ContainsSubstring("the name before the colon is empty"));
  CHECK_THAT(text_of("add 4 5"), ContainsSubstring("\"5\" is not expected here"));
}

TEST_CASE("SCALE-Sim's topologies are read") {
  const Layer conv =
      only(read_topology(fmt::format("{}conv1, 230, 230, 7, 7, 3, 64, 2,\r\n\n", kConvolutions), "t.csv"));
  CHECK(conv ==
        Layer{"conv1",
              Convolution{.channels = 3, .image = {230, 230}, .filters = 64, .kernel = {7, 7}, .stride = {2, 2}}});
  // The comma at the end may miss, and a sparsity of 1:1 is dense.
  CHECK(only(read_topology(fmt::format("{}conv1,230,230,7,7,3,64,2,1:1", kConvolutions), "t.csv")) == conv);
  const Layer depthwise = only(read_topology(fmt::format("{}DP1, 34, 34, 3, 3, 32, 1, 1,", kConvolutions), "t.csv"));
  CHECK(to_string(depthwise.operation) == "conv 32x34x34 -> 32 k3 s1 g32");
  // Columns M, N, K: M x K times K x N.
  const Layer gemm = only(read_topology("Layer, M, N, K,\ninner, 128, 3072, 768,\n", "g.csv"));
  CHECK(to_string(gemm.operation) == "gemm 128x768 -> 3072");
}

TEST_CASE("a topology that cannot be read is refused at its lines") {
  const auto said = [](std::string_view text) { return errors(read_topology(text, "t.csv")); };
  CHECK_THAT(said(""), ContainsSubstring("t.csv): the file has no layers"));
  CHECK_THAT(said("conv1, 230, 230, 7, 7, 3, 64, 2,"),
             ContainsSubstring("line 1") && ContainsSubstring("begins like a layer"));
  CHECK_THAT(said("a, b, c\nx, 1, 2\n"), ContainsSubstring("the header has 3 columns, and must have 8"));
  const std::string two = said(fmt::format("{}a, 8, 8, 3, 3, x, 4, 0,\nb, 8, 8, 3,\n", kConvolutions));
  CHECK_THAT(two, ContainsSubstring("line 2): Channels is \"x\", and must be a number from 1") &&
                      ContainsSubstring("Strides is \"0\"") && ContainsSubstring("line 3): the line has 4 columns"));
  CHECK_THAT(said(fmt::format("{}a, 8, 8, 9, 3, 4, 4, 1,", kConvolutions)),
             ContainsSubstring("line 2, layer a): the kernel reaches over 9 rows > 8"));
  CHECK_THAT(said(fmt::format("{}a, 8, 8, 3, 3, 4, 4, 1, 2:4,", kConvolutions)),
             ContainsSubstring("Sparsity is 2:4") && ContainsSubstring("write 1:1"));
}

TEST_CASE("Timeloop's problems are read") {
  if (!has_yaml()) return test::skip("this build has no YAML library");
  // P and R are of columns, Q and S of rows: (28 - 1) * 1 + 3 = 30 columns and (14 - 1) * 2 + 2 = 28 rows.
  const Layer conv = only(driver::read_layer_yaml(
      "problem:\n  shape: cnn-layer\n  instance: {C: 16, M: 32, R: 3, S: 2, P: 28, Q: 14, N: 2, Hstride: 2}\n",
      "d/x.yaml"));
  CHECK(conv.name == "x");
  CHECK(to_string(conv.operation) == "conv 2x16x28x30 -> 32 k2x3 s2x1");
  // An own shape names the strides.
  const Layer own = only(driver::read_layer_yaml(R"(
problem:
  name: own
  shape:
    name: cnn
    dimensions: [C, M, R, S, N, P, Q]
    coefficients: [{name: across, default: 2}, {name: spread, default: 1}]
    data_spaces:
      - {name: Weights, projection: [[[C]], [[M]], [[R]], [[S]]]}
      - {name: Inputs, projection: [[[N]], [[C]], [[R, spread], [P, across]], [[S], [Q]]]}
  instance: {C: 4, M: 8, R: 3, S: 3, N: 1, P: 5, Q: 6, spread: 2}
)",
                                                 "x.yaml"));
  CHECK(to_string(own.operation) == "conv 4x8x13 -> 8 k3 s1x2 d1x2");
  CHECK(to_string(only(driver::read_layer_yaml("problem: {instance: {M: 4, N: 5, K: 6}}", "x.yaml")).operation) ==
        "gemm 4x6 -> 5");
  const auto said = [](std::string_view text) { return errors(driver::read_layer_yaml(text, "x.yaml")); };
  CHECK_THAT(said("problem: {instance: {C: 1, M: 2, R: 3, X: 4}}"),
             ContainsSubstring("x.yaml, line 1): no kind of layer has the dimensions C, M, R, X"));
  CHECK_THAT(said("problem:\n  instance: {C: 1, M: many}"), ContainsSubstring("line 2): M is \"many\""));
  CHECK_THAT(said("problem:\n  instance:\n    C: 1\n    densities: {Weights: 0.5}"),
             ContainsSubstring("line 4): the layer is sparse"));
  CHECK_THAT(said("problem: {shape: {data-spaces: [{name: Inputs, projection: [[[R], [Q]]]}]}, instance: {C: 1}}"),
             ContainsSubstring("the inputs are addressed by R without P"));
  CHECK_THAT(said("architecture: {}"), ContainsSubstring("neither Timeloop's problem nor ZigZag's workload"));
  CHECK_THAT(said("a: [1"), ContainsSubstring("line 2): syntax: "));
  CHECK_THAT(said("a: 1\na: 2"), ContainsSubstring("line 2): the key a occurs twice"));
  CHECK_THAT(said(""), ContainsSubstring("the file has no layers"));
  // Aliases that grow without bound are cut off.
  std::string bomb = "- &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) bomb += fmt::format("- &a{} [*a{}, *a{}]\n", i, i - 1, i - 1);
  CHECK_THAT(said(bomb), ContainsSubstring("more than"));
}

TEST_CASE("ZigZag's workloads are read") {
  if (!has_yaml()) return test::skip("this build has no YAML library");
  const auto row = [](std::string_view equation, std::string_view dims, std::string_view sizes,
                      std::string_view more = "") {
    return fmt::format("- id: 3\n  equation: {}\n  loop_dims: {}\n  loop_sizes: {}\n{}", equation, dims, sizes, more);
  };
  const std::string relations = "  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]\n";
  const std::string pads = "  pr_loop_dims: [IX, IY]\n  pr_loop_sizes: [224, 224]\n  padding: [[3, 2], [3, 2]]\n";
  const auto read = [&](const std::string& text) { return driver::read_layer_yaml(text, "w.yaml"); };
  const std::string conv = "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]";
  const Layer stem = only(read(row(conv, "[B, K, C, OY, OX, FY, FX]", "[1, 64, 3, 112, 112, 7, 7]", relations + pads)));
  CHECK(stem.name == "layer3");
  CHECK(to_string(stem.operation) == "conv 3x224x224 -> 64 k7 s2 p3x3x2x2");
  CHECK(to_string(only(read(row("O[b][g][oy][ox]+=W[g][fy][fx]*I[b][g][iy][ix]", "[B, G, OY, OX, FY, FX]",
                                "[1, 8, 4, 4, 3, 3]", relations)))
                      .operation) == "conv 8x9x9 -> 8 k3 s2 g8");
  CHECK(to_string(only(read(row("O[b][k]+=I[b][c]*W[k][c]", "[B, K, C]", "[5, 6, 7]"))).operation) == "gemm 5x7 -> 6");
  const auto said = [&](const std::string& text) { return errors(read(text)); };
  CHECK_THAT(said(row("O[b][k]+=I[b][c]*W[k][c]", "[B, K, C]", "[5, 6]")),
             ContainsSubstring("not lists of equal length"));
  CHECK_THAT(said(row("O[b]=X[b]+Y[b]", "[B]", "[5]")), ContainsSubstring("not a product of W and I"));
  CHECK_THAT(said(row("O[b][k]+=I[b][c]*W[k][z]", "[B, K, C]", "[5, 6, 7]")), ContainsSubstring("index \"z\""));
  CHECK_THAT(said(row("O[b][k]+=I[b][c]*W[k][c]", "[B, K, C]", "[5, 6, 7]", "  operand_precision: {W: 4, I: 8}\n")),
             ContainsSubstring("operand W has 4 bits, and must have 8"));
  CHECK_THAT(said(row("O[h][b][k]+=I[h][b][c]*W[h][k][c]", "[H, B, K, C]", "[2, 5, 6, 7]")),
             ContainsSubstring("2 products of different weights"));
  CHECK_THAT(
      said(row(conv, "[B, K, C, OY, OX, FY, FX]", "[1, 64, 3, 112, 112, 7, 7]",
               relations + "  pr_loop_dims: [IX, IY]\n  pr_loop_sizes: [220, 224]\n  padding: [[3, 2], [3, 2]]\n")),
      ContainsSubstring("IX is 220, but the loops and the padding need 224"));
}

TEST_CASE("damaged files of layers are refused or read, and nothing else") {
  const std::string csv =
      fmt::format("{}conv1, 230, 230, 7, 7, 3, 64, 2,\nDP2, 34, 34, 3, 3, 32, 1, 1, 1:1,\n", kConvolutions);
  const std::string yaml =
      "problem:\n  shape: cnn-layer\n  instance: {C: 16, M: 32, R: 3, S: 2, P: 28, Q: 14, N: 2, Hstride: 2}\n---\n- "
      "id: 1\n  "
      "equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]\n  dimension_relations: [ix=2*ox+1*fx, "
      "iy=2*oy+1*fy]\n  "
      "loop_dims: [B, K, C, OY, OX, FY, FX]\n  loop_sizes: [1, 8, 3, 12, 12, 7, 7]\n  pr_loop_dims: [IX, IY]\n  "
      "padding: "
      "[[3, 2], [3, 2]]\n";
  const std::string text = "stem: conv 2x64x56x56 -> 64 k3x1 s1 p1x0 d2 g4 bias relu";
  std::mt19937_64 random(4);
  int read = 0, refused = 0;
  const auto count = [&](const auto& result) {
    result.ok() ? ++read : ++refused;
    if (result.ok()) return;
    for (const Diagnostic& problem : result.errors()) {
      CHECK(!problem.why.empty());
      CHECK(!problem.hint.empty());
    }
  };
  for (int i = 0; i < 3000; ++i) {
    const auto mutated = [&](const std::string& valid, const std::string& other) {
      const test::Bytes bytes =
          test::mutate_bytes(std::as_bytes(std::span(valid)), std::as_bytes(std::span(other)), random, 4096);
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    count(read_topology(mutated(csv, text), "t.csv"));
    count(driver::read_layer_yaml(mutated(yaml, csv), "t.yaml"));
    count(parse_layer(mutated(text, yaml)));
  }
  INFO(read << " read, " << refused << " refused");
  CHECK(read > 100);
  CHECK(refused > 1000);
}

TEST_CASE("layers become an int8 network whose layers are apart") {
  std::vector<Layer> layers;
  for (const char* text :
       {"conv 8x9x9 -> 16 k3 s2 p1 relu bias", "depthwise 8x6x6 k3 d2 p2", "gemm 5x24 -> 12",
        "attention heads=2 seq=5 dim=8", "maxpool 8x8x8 k3 s2 p1", "avgpool 8x4x4", "avgpool 8x6x6 k2 s2", "add 3x4"})
    layers.push_back(*parse_layer(text));
  const auto graph = build_layers("all", named(layers));
  REQUIRE(graph.ok());
  CHECK(graph->apart);
  CHECK(graph->outputs.size() == layers.size());
  CHECK(graph->inputs.size() == layers.size() + 3);  // attention has three, an addition two
  std::map<std::string, NdArray> inputs;
  std::mt19937_64 random(1);
  for (const graph::ValueId id : graph->inputs) {
    const graph::Value& value = graph->value(id);
    REQUIRE(value.type.dtype == DType::int8);
    NdArray array(value.type.dtype, value.type.shape);
    for (std::int64_t i = 0; i < array.count(); ++i)
      array.set_int64(i, static_cast<std::int64_t>(random() % 256) - 128);
    inputs.emplace(value.name, std::move(array));
  }
  // Results use their range, and are hardly saturated.
  const auto reference = Reference::make(*graph);
  REQUIRE(reference.ok());
  const auto values = reference->run(inputs);
  REQUIRE(values.ok());
  for (const graph::ValueId id : graph->outputs) {
    const graph::Value& value = graph->value(id);
    const NdArray& result = values->at(value.name);
    std::int64_t saturated = 0, least = 127, greatest = -128;
    for (std::int64_t i = 0; i < result.count(); ++i) {
      const std::int64_t step = result.as_int64(i);
      saturated += step == 127 ? 1 : 0;
      least = std::min(least, step), greatest = std::max(greatest, step);
    }
    INFO(value.name << ": " << least << " to " << greatest << ", " << saturated << " of " << result.count());
    CHECK(greatest - least >= 40);
    CHECK(saturated * 20 <= result.count());
  }
  // The same network for everyone, also as a file.
  const auto again = build_layers("all", named(layers)), other = build_layers("all", named(layers), 2);
  CHECK(to_string(*graph, graph::Elements::all) == to_string(*again, graph::Elements::all));
  CHECK(to_string(*graph, graph::Elements::all) != to_string(*other, graph::Elements::all));
  const auto file = export_onnx(*graph, "all");
  REQUIRE(file.ok());
  const auto imported = import::import_onnx(*file, "all");
  REQUIRE(imported.ok());
  CHECK(imported->graph.apart);
  CHECK_THAT(errors(build_layers("none", {})), ContainsSubstring("there are 0 layers, and must be 1 to 10000"));
}

TEST_CASE("a part of a model keeps integer borders and its own weights") {
  driver::ModelSource source{
      .layers = {"a: conv 8x9x9 -> 16 k3 relu bias", "b: gemm 5x24 -> 12", "c: attention heads=2 seq=5 dim=8"}};
  const auto whole = driver::import_source(source, {});
  REQUIRE(whole.ok());
  const auto border = [](const graph::Graph& graph) {
    std::string text;
    for (const graph::ValueId id : graph.inputs) text += graph.value(id).name + " ";
    text += "->";
    for (const graph::ValueId id : graph.outputs) text += " " + graph.value(id).name;
    return text;
  };
  const auto part = [&](driver::ModelPart chosen) { return driver::select_part(whole->graph, chosen, "m"); };
  // The ReLU and the quantization after it belong to the convolution.
  const auto conv = part({.only = {"a"}});
  REQUIRE(conv.ok());
  CHECK(border(*conv) == "a.input/steps -> a.relu/steps");
  CHECK(graph::verify(*conv).ok());
  const auto pattern = part({.only = {"c.s*"}});  // scores, scaled, softmax
  REQUIRE(pattern.ok());
  CHECK(border(*pattern) == "c.queries/steps c.keys/steps -> c.softmax/steps");
  const auto between = part({.from = {"c.queries/steps"}, .to = {"c.softmax/steps"}});
  REQUIRE(between.ok());
  CHECK(border(*between) == "c.queries/steps c.keys/steps -> c.softmax/steps");
  CHECK(border(*part({.from = {"b.input/steps"}})) == "b.input/steps -> b/steps");
  CHECK(border(*part({.only = {"a", "b"}})) == "a.input/steps b.input/steps -> a.relu/steps b/steps");
  CHECK_THAT(errors(part({.only = {"z*"}})),
             ContainsSubstring("m has no node of such a name") && ContainsSubstring("the nodes are a"));
  CHECK_THAT(errors(part({.from = {"nothing"}})), ContainsSubstring("the model has no tensor of that name"));
  CHECK_THAT(errors(part({.from = {"b.input/steps"}, .to = {"a.relu/steps"}})),
             ContainsSubstring("no node is on a way between these tensors"));
  source.part.only = {"b"};
  CHECK(source.title() == "3 layers --only b");
  CHECK(source.words() ==
        "--layer 'a: conv 8x9x9 -> 16 k3 relu bias' --layer 'b: gemm 5x24 -> 12' --layer 'c: attention "
        "heads=2 seq=5 dim=8' --only b");
  CHECK_THAT(errors(driver::import_source({.path = "m.onnx", .layers = {"add 4"}}, {})),
             ContainsSubstring("give a file or --layer"));
}

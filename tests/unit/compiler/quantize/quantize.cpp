// Where a float graph is quantized, and the report.
#include "compiler/quantize/quantize.h"

#include <cmath>

#include "compiler/export/onnx.h"
#include "compiler/import/onnx.h"
#include "compiler/passes/list.h"
#include "compiler/reference/reference.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::quantize {
namespace {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

NdArray random(const Shape& shape, const std::string& name, double deviation = 1) {
  return zoo::normal_array(shape, deviation, zoo::Random(3, name));
}

// conv - relu - max pool - (sum with its input) - flatten - softmax, followed by a product.
graph::Graph small() {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 4, 6, 6});
  const ValueId conv = make.node(
      "Conv", "conv", {x, make.constant("w", random({4, 4, 3, 3}, "w", 0.2)), make.constant("b", random({4}, "b"))},
      {{"pads", Ints{1, 1, 1, 1}}});
  const ValueId sum = make.node("Add", "sum", {make.node("Relu", "relu", {conv}), x});
  const ValueId pool = make.node("MaxPool", "pool", {sum}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const ValueId flat = make.node("Flatten", "flat", {pool});
  const ValueId soft = make.node("Softmax", "soft", {flat}, {{"axis", std::int64_t{1}}});
  const ValueId gelu =
      make.node("Gelu", "gelu", {make.node("MatMul", "product", {soft, make.constant("m", random({36, 5}, "m"))})});
  make.output(gelu);
  return make.graph;
}

std::vector<Values> samples(int count) {
  std::vector<Values> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back({{"x", random({1, 4, 6, 6}, "x" + std::to_string(i))}});
  return inputs;
}

Quantized quantized(const Options& options = {}) {
  auto result = quantize(small(), samples(4), options, reference_forward());
  if (!result) FAIL(to_string(result.errors()));
  return *std::move(result);
}

}  // namespace

TEST_CASE("quantize: the range of a Clip ends at its bounds, without an error") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 4, 6, 6});
  const ValueId conv = make.node("Conv", "conv", {x, make.constant("w", random({4, 4, 1, 1}, "w", 9))});
  const auto bound = [&](const char* name, float value) { return make.constant(name, NdArray::scalar(value)); };
  make.output(make.node("Clip", "relu6", {conv, bound("least", 0), bound("most", 6)}));
  const auto result = quantize(make.graph, samples(2), {}, reference_forward());
  REQUIRE(result.ok());
  const TensorReport& clipped = result->tensors[1];
  CHECK(clipped.value == "relu6");
  CHECK(clipped.q == passes::qdq::Quantization{6.0f / 255, -128});
  CHECK(clipped.commonest > 0.3);
  CHECK(clipped.saturated == 0);
}

TEST_CASE("quantize: quantized places, shared steps, and nodes that stay float") {
  const Quantized result = quantized();
  std::vector<std::string> names;
  for (const TensorReport& tensor : result.tensors) names.push_back(tensor.value);
  CHECK(names == std::vector<std::string>{"x", "relu", "sum", "pool", "flat", "soft", "product",
                                          "gelu"});  // conv and relu are one
  CHECK(result.tensors[3].q == result.tensors[2].q);
  CHECK(result.tensors[4].q == result.tensors[2].q);
  CHECK(result.float_nodes == std::vector<std::pair<std::string, std::string>>{{"soft_node", "Softmax"}});
  CHECK(result.tensors[1].q.zero_point == -128);  // after a ReLU
  const std::string text = to_string(result.graph);
  CHECK_THAT(
      text, ContainsSubstring("%relu/steps: int8[1, 4, 6, 6] = QuantizeLinear(%relu, %relu/scale, %relu/zero_point)") &&
                ContainsSubstring("%w/real: float32[4, 4, 3, 3] = DequantizeLinear(%w/steps, %w/scale) {axis=0}") &&
                ContainsSubstring("%b/real: float32[4] = DequantizeLinear(%b/steps, %b/scale) {axis=0}") &&
                ContainsSubstring("%gelu: float32[1, 5] = DequantizeLinear(%gelu/steps"));
  CHECK(result.graph.value(result.graph.outputs[0]).name == "gelu");
}

TEST_CASE(
    "quantize: constant factors of a product of one tensor are int8, with one scale and the signs of its halves") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 4, 6, 6});
  const ValueId mirrored =
      make.node("Concat", "mirrored", {make.node("Neg", "negative", {x}), x}, {{"axis", std::int64_t{3}}});
  make.output(make.node("Mul", "turned", {mirrored, make.constant("f", random({6, 12}, "f"))}));
  auto result = quantize(make.graph, samples(4), {}, reference_forward());
  if (!result) FAIL(to_string(result.errors()));
  CHECK(result->float_nodes.empty());
  graph::Graph& graph = result->graph;
  REQUIRE(passes::lower_qdq(graph).ok());
  int products = 0;
  for (const graph::NodeId id : graph.live_nodes()) {
    const graph::Node& node = graph.node(id);
    INFO(node.name);
    CHECK((node.op != "Mul" && node.op != "Neg"));
    if (node.op != "dovetail.qmul") continue;
    ++products;
    const NdArray factors = random({6, 12}, "f"), &steps = *graph.value(node.inputs[1]).constant;
    double largest = 0;
    for (std::int64_t i = 0; i < factors.count(); ++i) largest = std::max(largest, std::abs(factors.as_double(i)));
    for (std::int64_t i = 0; i < factors.count(); ++i)
      CHECK(steps.as_double(i) == Approx(factors.as_double(i) / largest * (i % 12 < 6 ? -127 : 127)).margin(0.51));
  }
  CHECK(products == 1);
}

TEST_CASE("quantize: a cache has one scale before and after rows are written into it") {
  test::GraphMaker make;
  const ValueId past = make.input("past", DType::float32, {1, 4, 6, 6}),
                x = make.input("x", DType::float32, {1, 4, 1, 6});
  const ValueId rows = make.node("MatMul", "rows", {x, make.constant("m", random({6, 6}, "m"))});
  const ValueId at = make.constant("at", NdArray::from<std::int64_t>({1}, {2}));
  make.output(make.node("TensorScatter", "present", {past, rows, at}, {{"axis", std::int64_t{2}}}));
  std::vector<Values> inputs;
  for (int i = 0; i < 4; ++i)  // the past is small, what is written is not
    inputs.push_back({{"past", random({1, 4, 6, 6}, "past" + std::to_string(i), 0.01)},
                      {"x", random({1, 4, 1, 6}, "x" + std::to_string(i))}});
  auto result = quantize(make.graph, inputs, {}, reference_forward());
  if (!result) FAIL(to_string(result.errors()));
  CHECK(result->float_nodes.empty());
  std::map<std::string, passes::qdq::Quantization> of;
  for (const TensorReport& tensor : result->tensors) of[tensor.value] = tensor.q;
  CHECK(of.at("past") == of.at("present"));
  CHECK(of.at("rows").scale > 0.01f);
  REQUIRE(passes::lower_qdq(result->graph).ok());
  const auto converts = [&](const graph::NodeId id) { return result->graph.node(id).op == "dovetail.qadd"; };
  CHECK(std::ranges::count_if(result->graph.live_nodes(), converts) <= 1);  // the rows, if their scale is another
}

TEST_CASE("quantize: a normalization of which a part is multiplied is quantized whole") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 4, 6});
  const ValueId sum = make.node("Add", "sum", {x, x});
  const ValueId norm =
      make.node("LayerNormalization", "norm",
                {sum, make.constant("gamma", random({6}, "gamma")), make.constant("beta", random({6}, "beta"))});
  const ValueId first = make.node("Gather", "first", {norm, make.constant("i", NdArray::scalar(std::int64_t{0}))},
                                  {{"axis", std::int64_t{1}}});
  make.output(make.node("MatMul", "head", {first, make.constant("m", random({6, 5}, "m"))}));
  std::vector<Values> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back({{"x", random({1, 4, 6}, "x" + std::to_string(i))}});
  auto result = quantize(make.graph, inputs, {}, reference_forward());
  if (!result) FAIL(to_string(result.errors()));
  std::vector<std::string> names;
  for (const TensorReport& tensor : result->tensors) names.push_back(tensor.value);
  CHECK(names == std::vector<std::string>{"x", "sum", "norm", "first", "head"});
  REQUIRE(passes::lower_qdq(result->graph).ok());
  const auto is_integer = [&](const graph::NodeId id) { return result->graph.node(id).op == "dovetail.qnormalize"; };
  CHECK(std::ranges::count_if(result->graph.live_nodes(), is_integer) == 1);
}

TEST_CASE("quantize: the report states the distance of the integers from the floats") {
  const Quantized result = quantized();
  CHECK(result.samples == 4);
  CHECK(result.same_choice >= 3);
  for (const TensorReport& tensor : result.tensors) {
    INFO(tensor.value);
    CHECK(tensor.signal_to_noise_db > 25);
    CHECK(tensor.signal_to_noise_db < 60);
    CHECK(tensor.saturated <= 0.05);
  }
  // Coarser weights are reported.
  Options coarse;
  coarse.weights = WeightScales::per_tensor;
  CHECK(quantized(coarse).tensors[1].signal_to_noise_db < result.tensors[1].signal_to_noise_db + 1);
  CHECK(result.to_json().at("tensors").size() == 8);
}

TEST_CASE("quantize: the result is ONNX, and becomes integers") {
  const Quantized result = quantized();
  const auto bytes = export_onnx(result.graph, "small");
  REQUIRE(bytes.ok());
  auto imported = import::import_onnx(*bytes, "small.onnx", {});
  if (!imported) FAIL(to_string(imported.errors()));
  const auto lowered = passes::lower_qdq(imported->graph);
  REQUIRE(lowered.ok());
  CHECK(lowered->notes.empty());
  std::map<std::string, int> ops;
  for (const graph::NodeId id : imported->graph.live_nodes()) ++ops[imported->graph.node(id).op];
  CHECK(ops == std::map<std::string, int>{{"DequantizeLinear", 1},
                                          {"Flatten", 1},
                                          {"MaxPool", 1},
                                          {"QuantizeLinear", 1},
                                          {"dovetail.qadd", 1},
                                          {"dovetail.qconv", 1},
                                          {"dovetail.qgemm", 1},
                                          {"dovetail.qsoftmax", 1},
                                          {"dovetail.qtable", 1}});
}

TEST_CASE("quantize: a channel of tiny weights keeps its bias, and the convolution becomes an integer one") {
  for (const float tiny : {1e-30F, 1e-38F, 0.0F}) {
    CAPTURE(tiny);
    test::GraphMaker make;
    const ValueId x = make.input("x", DType::float32, {1, 4, 6, 6});
    NdArray weight = random({4, 4, 1, 1}, "w");
    for (std::int64_t i = 4; i < 8; ++i) weight.set_double(i, i % 2 == 0 ? tiny : -tiny);  // channel 1
    const NdArray bias = NdArray::from<float>({4}, {0.5F, 0.0314F, -0.5F, 0});
    make.output(make.node("Conv", "conv", {x, make.constant("w", weight), make.constant("b", bias)}));
    const auto result = quantize(make.graph, samples(2), {}, reference_forward());
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    graph::Graph lowered = result->graph;
    const auto outcome = passes::lower_qdq(lowered);
    REQUIRE(outcome.ok());
    CHECK(outcome->notes.empty());
    const NdArray y = Reference::make(lowered).value().run({{"x", random({1, 4, 6, 6}, "x0")}}).value().at("conv");
    const double step = result->tensors[1].q.scale;
    CHECK(result->tensors[1].value == "conv");
    for (std::int64_t i = 36; i < 72; ++i) CHECK(std::abs(y.as_double(i) - 0.0314) <= step / 2 * 1.001);
  }
}

// Values that the weight's DequantizeLinear adds must not move the weight that is quantized.
TEST_CASE("quantize: weights of every size after an intermediate tensor") {
  for (int layers = 1; layers < 12; ++layers) {
    test::GraphMaker make;
    ValueId x = make.node("GlobalAveragePool", "pooled", {make.input("x", DType::float32, {1, 4, 6, 6})});
    for (int i = 0; i < layers; ++i)
      x = make.node("ConvTranspose", "up" + std::to_string(i),
                    {x, make.constant("w" + std::to_string(i), random({4, 4, 3, 3}, "w"))},
                    {{"pads", Ints{1, 1, 1, 1}}});
    make.output(x);
    const auto result = quantize(make.graph, samples(2), {}, reference_forward());
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    int found = 0;
    for (const graph::Value& value : result->graph.values)
      if (value.constant && value.constant->dtype() == DType::int8 && value.constant->count() == 144) {
        ++found;
        std::int64_t largest = 0;
        for (std::int64_t i = 0; i < 144; ++i) largest = std::max(largest, std::abs(value.constant->as_int64(i)));
        CHECK(largest == 127);
      }
    CHECK(found == layers);
  }
}

TEST_CASE("quantize: nodes may be kept in float") {
  Options options;
  options.keep_float = {"conv_node"};
  const Quantized result = quantized(options);
  CHECK(result.float_nodes[0] == std::pair<std::string, std::string>{"conv_node", "Conv"});
  CHECK_THAT(to_string(result.graph), ContainsSubstring("%conv: float32[1, 4, 6, 6] = Conv(%x/real, %w, %b)"));
  options.keep_float = {"nobody"};
  const auto refused = quantize(small(), samples(1), options, reference_forward());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.errors()[0].where == "nobody");
  CHECK(quantize(small(), std::vector<Values>{}, {}, reference_forward()).errors()[0].why ==
        "no samples are given, but ranges are computed from samples");
}

namespace {

// A detector's head: boxes of hundreds and scores below 1 in one tensor, which is the output (after a Transpose), or is
// read by another convolution.
Quantized detector(bool ends, float boxes_scale) {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 4, 6, 6});
  const ValueId boxes =
      make.node("Mul", "boxes", {make.node("Relu", "relu", {x}), make.constant("size", NdArray::scalar(boxes_scale))});
  const ValueId scores =
      make.node("Sigmoid", "scores", {make.node("Conv", "conv", {x, make.constant("w", random({3, 4, 1, 1}, "w"))})});
  const ValueId joined = make.node("Concat", "joined", {boxes, scores}, {{"axis", std::int64_t{1}}});
  make.output(ends ? make.node("Transpose", "rows", {joined}, {{"perm", Ints{0, 2, 3, 1}}})
                   : make.node("Conv", "next", {joined, make.constant("v", random({2, 7, 1, 1}, "v"))}));
  auto result = quantize(make.graph, samples(2), {}, reference_forward());
  if (!result) FAIL(to_string(result.errors()));
  return *std::move(result);
}

}  // namespace

TEST_CASE("quantize: a Concat at the end of a model keeps the scales of its parts where one scale would lose a part") {
  const Quantized far = detector(true, 100);
  REQUIRE(far.lost_parts.size() == 1);
  CHECK(far.lost_parts[0].operand == "scores");
  CHECK(far.lost_parts[0].node_stays_float);
  CHECK(far.lost_parts[0].begin == 4);
  CHECK(far.lost_parts[0].end == 7);
  CHECK_THAT(to_string(far.graph),
             ContainsSubstring("%joined: float32[1, 7, 6, 6] = Concat(%boxes/real, %scores/real)"));
  CHECK(far.outputs[0].signal_to_noise_db > 30);
  for (const TensorReport& tensor : far.tensors) {
    INFO(tensor.value);
    CHECK((tensor.value != "joined" && tensor.value != "rows"));
    if (tensor.value == "scores") CHECK(tensor.signal_to_noise_db > 30);
  }
  CHECK(far.to_json().at("lost_parts").at(0).at("operand") == "scores");
  CHECK(degenerate(far).empty());

  const Quantized near = detector(true, 4);
  CHECK(near.lost_parts.empty());
  CHECK_THAT(to_string(near.graph), ContainsSubstring("%joined/steps"));
}

TEST_CASE("quantize: a Concat inside a model warns of the part that its scale loses, with a remedy") {
  const Quantized inside = detector(false, 100);
  REQUIRE(inside.lost_parts.size() == 1);
  CHECK_FALSE(inside.lost_parts[0].node_stays_float);
  const std::vector<std::string> findings = degenerate(inside);
  REQUIRE(findings.size() == 1);
  CHECK_THAT(findings[0],
             ContainsSubstring("joined_node: its part scores (4 to 6 along axis 1) with values from 0.") &&
                 ContainsSubstring(" of the 255 steps of the common scale; --keep-float joined_node gives each "
                                   "part its own scale"));
}

TEST_CASE("quantize: degenerate tensors are found") {
  Quantized result;
  result.tensors = {{"good", {}, 0.05, 0.9, 30}, {"cut", {}, 0.051, 0.1, 30}, {"flat", {}, 0, 0.91, 30}};
  CHECK(degenerate(result) ==
        std::vector<std::string>{"cut: 5.1 % saturated > 5 %", "flat: 91.0 % of its elements are one value > 90 %"});
}

}  // namespace dovetail::quantize

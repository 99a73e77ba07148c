// Networks as exporters write them, whose activations and factors are several nodes: between two integer nodes, no node
// stays float.
#include "compiler/quantize/functions.h"

#include "compiler/passes/list.h"
#include "compiler/quantize/quantize.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::quantize {
namespace {

using graph::ValueId;
using Ints = std::vector<std::int64_t>;

NdArray drawn(const Shape& shape, const std::string& name, double deviation = 1) {
  return zoo::normal_array(shape, deviation, zoo::Random(3, name));
}

struct Network : test::GraphMaker {
  ValueId x = input("x", DType::float32, {1, 4, 6, 6});

  ValueId number(const std::string& name, float value) { return constant(name, NdArray::scalar(value)); }
  ValueId conv(const std::string& name, ValueId from, Ints pads = {1, 1, 1, 1}) {
    const std::int64_t taps = pads[0] == 0 ? 1 : 3;
    return node("Conv", name, {from, constant(name + "_w", drawn({4, 4, taps, taps}, name, 0.3))}, {{"pads", pads}});
  }
  // x · clip(x + 3, 0, 6) / 6, in the nodes that exporters write.
  ValueId hard_swish(const std::string& name, ValueId from) {
    const ValueId sum = node("Add", name + "_sum", {from, number(name + "_3", 3)});
    const ValueId clipped = node("Clip", name + "_clip", {sum, number(name + "_0", 0), number(name + "_6", 6)});
    return node("Div", name, {node("Mul", name + "_product", {from, clipped}), number(name + "_six", 6)});
  }
};

Quantized quantized_network(const graph::Graph& graph, const Options& options = {}) {
  std::vector<Values> samples;
  for (int i = 0; i < 4; ++i) samples.push_back({{"x", drawn({1, 4, 6, 6}, "x" + std::to_string(i))}});
  auto result = quantize(graph, samples, options, reference_forward());
  if (!result) FAIL(to_string(result.errors()));
  return *std::move(result);
}

std::vector<std::string> places(const Quantized& result) {
  std::vector<std::string> names;
  for (const TensorReport& tensor : result.tensors) names.push_back(tensor.value);
  return names;
}

// Operators of the integer graph.
std::map<std::string, int> operators(Quantized result) {
  const auto lowered = passes::lower_qdq(result.graph);
  REQUIRE(lowered.ok());
  CHECK(lowered->notes.empty());
  std::map<std::string, int> ops;
  for (const graph::NodeId id : result.graph.live_nodes()) ++ops[result.graph.node(id).op];
  return ops;
}

}  // namespace

TEST_CASE("quantize: an activation of several nodes is one table, and factors become weights") {
  // A convolution with a factor and an addend, a hard swish with a factor and an addend, and a convolution with pads.
  Network make;
  ValueId y = make.conv("first", make.x);
  y = make.node("Mul", "scaled", {y, make.number("c", 1.5F)});
  y = make.node("Add", "shifted", {y, make.number("d", -0.25F)});
  y = make.hard_swish("swish", y);
  y = make.node("Mul", "rescaled", {y, make.number("e", 0.75F)});
  y = make.node("Add", "moved", {y, make.number("f", 0.5F)});
  make.output(make.conv("second", y));
  const Quantized result = quantized_network(make.graph);
  CHECK(places(result) == std::vector<std::string>{"x", "shifted", "moved", "second"});
  CHECK(result.float_nodes.empty());
  CHECK(result.outputs[0].signal_to_noise_db > 25);
  CHECK(operators(result) ==
        std::map<std::string, int>{
            {"DequantizeLinear", 1}, {"QuantizeLinear", 1}, {"dovetail.qconv", 2}, {"dovetail.qtable", 1}});
}

TEST_CASE("quantize: a function with several ends has a range for each") {
  Network make;
  const ValueId swish = make.hard_swish("swish", make.conv("first", make.x));
  const ValueId gate = make.node("HardSigmoid", "gate", {swish});
  make.output(make.conv("second", swish));
  make.output(make.conv("third", gate));
  const Quantized result = quantized_network(make.graph);
  CHECK(places(result) == std::vector<std::string>{"x", "first", "swish", "gate", "second", "third"});
}

TEST_CASE("quantize: slopes of each channel are tables of each channel") {
  Network make;
  const ValueId y = make.node("PRelu", "prelu",
                              {make.conv("first", make.x), make.constant("slopes", drawn({4, 1, 1}, "slopes", 0.2))});
  make.output(make.conv("second", make.node("MaxPool", "pool", {y}, {{"kernel_shape", Ints{2, 2}}})));
  const Quantized result = quantized_network(make.graph);
  CHECK(places(result) == std::vector<std::string>{"x", "first", "prelu", "pool", "second"});
  CHECK(operators(result)["dovetail.qtable"] == 1);
}

TEST_CASE("quantize: a product and a sum with numbers are one table") {
  Network make;
  const ValueId pooled = make.node("MaxPool", "pool", {make.conv("first", make.x)}, {{"kernel_shape", Ints{2, 2}}});
  const ValueId y = make.node("Mul", "scaled", {pooled, make.number("c", 1.5F)});
  make.output(make.conv("second", make.node("Add", "sum", {y, make.number("d", 2)})));
  const Quantized result = quantized_network(make.graph);
  CHECK(places(result) == std::vector<std::string>{"x", "first", "pool", "sum", "second"});
  CHECK(operators(result)["dovetail.qtable"] == 1);
}

TEST_CASE("quantize: an end that needs more than int8 keeps its nodes in float") {
  // The exponential feeds a mean, as in a softmax that is written out.
  Network make;
  const ValueId exp = make.node("Exp", "exp", {make.conv("first", make.x)});
  make.output(make.node("ReduceSum", "total", {exp, make.constant("axes", NdArray::from<std::int64_t>({1}, {1}))}));
  const Quantized result = quantized_network(make.graph);
  CHECK(result.float_nodes ==
        std::vector<std::pair<std::string, std::string>>{{"exp_node", "Exp"}, {"total_node", "ReduceSum"}});
}

TEST_CASE("quantize: a transposed convolution with a normalization after it, and nearest neighbors") {
  Network make;
  ValueId y =
      make.node("ConvTranspose", "up", {make.conv("first", make.x), make.constant("u", drawn({4, 4, 2, 2}, "u", 0.3))},
                {{"strides", Ints{2, 2}}});
  y = make.node("Add", "biased", {y, make.constant("b", drawn({4, 1, 1}, "b"))});
  NdArray variance(DType::float32, {4});
  for (int i = 0; i < 4; ++i) variance.set_double(i, 0.5 + i);
  y = make.node("BatchNormalization", "norm",
                {y, make.constant("g", drawn({4}, "g")), make.constant("s", drawn({4}, "s")),
                 make.constant("m", drawn({4}, "m")), make.constant("v", variance)});
  y = make.node("Relu", "relu", {y});
  y = make.node("Resize", "larger", {y, ValueId{}, make.constant("scales", NdArray::from<float>({4}, {1, 1, 2, 2}))},
                {{"mode", std::string("nearest")}});
  make.output(make.conv("last", y));
  const Quantized result = quantized_network(make.graph);
  CHECK(places(result) == std::vector<std::string>{"x", "first", "relu", "larger", "last"});
  CHECK(result.float_nodes.empty());
  CHECK(result.outputs[0].signal_to_noise_db > 25);
  CHECK(operators(result).count("ConvTranspose") == 0);
}

TEST_CASE("quantize: a normalization of several nodes is one") {
  Network net;
  const auto mean_of = [&](const std::string& name, ValueId of) {
    return net.node("ReduceMean", name, {of, net.constant(name + "_axes", NdArray::from<std::int64_t>({1}, {-1}))});
  };
  const ValueId x = net.conv("conv1", net.x), mean = mean_of("mean", x), centered = net.node("Sub", "sub", {x, mean});
  const ValueId square = net.node("Pow", "square", {centered, net.number("two", 2)});
  const ValueId shifted = net.node("Add", "shifted", {mean_of("variance", square), net.number("epsilon", 1e-5f)});
  const ValueId normal = net.node("Div", "normal", {centered, net.node("Sqrt", "root", {shifted})});
  const ValueId scaled = net.node("Mul", "scaled", {normal, net.constant("gamma", drawn({6}, "gamma"))});
  net.output(net.conv("conv2", net.node("Add", "norm", {scaled, net.constant("beta", drawn({6}, "beta"))})));
  const Quantized result = quantized_network(net.graph);
  CHECK(result.outputs[0].signal_to_noise_db > 30);
  auto ops = operators(result);
  CHECK(ops["dovetail.qnormalize"] == 1);
  CHECK(ops["dovetail.qconv"] == 2);
  CHECK(ops["ReduceMean"] + ops["Sub"] + ops["dovetail.qadd"] + ops["dovetail.qtable"] == 0);
}

TEST_CASE("quantize: --keep-float names nodes that were folded into others") {
  Network make;
  const ValueId scaled = make.node("Mul", "scaled", {make.conv("first", make.x), make.number("c", 1.5F)});
  make.output(make.conv("second", make.hard_swish("swish", scaled)));
  Options options;
  options.keep_float = {"scaled_node"};
  const Quantized result = quantized_network(make.graph, options);
  REQUIRE(result.float_nodes.size() == 1);
  CHECK(result.float_nodes[0].second == "Conv");
  CHECK(places(result).front() != "x");
}

}  // namespace dovetail::quantize

#include "compiler/shapes/build_layers.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/quantize/insert_qdq.h"
#include "compiler/quantize/ranges.h"
#include "compiler/zoo/builder.h"

namespace dovetail::shapes {

namespace {

using zoo::Builder;

// Normal numbers beyond this multiple of their deviation are saturated: 1 of 16,000.
constexpr double kReach = 4;

zoo::Window window_of(const Pair& kernel, const Pair& stride, const Pair& dilation,
                      const std::array<std::int64_t, 4>& pads) {
  return {kernel[0],
          kernel[1],
          {stride.begin(), stride.end()},
          {pads.begin(), pads.end()},
          {dilation.begin(), dilation.end()}};
}

Builder::Value add_operation(Builder& b, const std::string& name, const Convolution& c) {
  Builder::Value x = b.input_of(name + ".input", {c.batch, c.channels, c.image[0], c.image[1]});
  x = b.conv(name, x, c.filters, window_of(c.kernel, c.stride, c.dilation, c.pads),
             c.bias ? zoo::Bias::present : zoo::Bias::none, c.groups);
  return c.relu ? b.relu(name + ".relu", x) : x;
}

Builder::Value add_operation(Builder& b, const std::string& name, const Product& p) {
  Builder::Value x = b.input_of(name + ".input", {p.rows, p.inner});
  x = b.linear(name, x, p.columns, 1, p.bias ? zoo::Bias::present : zoo::Bias::none);
  return p.relu ? b.relu(name + ".relu", x) : x;
}

Builder::Value add_operation(Builder& b, const std::string& name, const Attention& a) {
  const Builder::Value q = b.input_of(name + ".queries", {1, a.heads, a.positions, a.size}),
                       k = b.input_of(name + ".keys", {1, a.heads, a.size, a.keys}),
                       v = b.input_of(name + ".values", {1, a.heads, a.keys, a.size});
  const Builder::Value scores = b.matmul(name + ".scores", q, k),
                       scaled = b.divide(name + ".scaled", scores, std::sqrt(static_cast<float>(a.size)));
  return b.matmul(name, b.softmax(name + ".softmax", scaled), v);
}

Builder::Value add_operation(Builder& b, const std::string& name, const Pooling& p) {
  const Builder::Value x = b.input_of(name + ".input", {p.batch, p.channels, p.image[0], p.image[1]});
  const zoo::Window window = window_of(p.kernel, p.stride, {1, 1}, p.pads);
  if (p.is_maximum) return b.max_pool(name, x, window);
  const bool whole = p.kernel == p.image && p.pads == std::array<std::int64_t, 4>{};
  return whole ? b.global_average_pool(name, x) : b.average_pool(name, x, window);
}

Builder::Value add_operation(Builder& b, const std::string& name, const Addition& a) {
  const Builder::Value x = b.input_of(name + ".input", a.shape), y = b.input_of(name + ".input2", a.shape);
  return b.add(name, x, y);
}

// Steps for the numbers that are expected: full-range inputs, and results of normal distribution.
passes::qdq::Quantization steps_for(const Builder::Statistics& expected, bool is_input) {
  const double reach = std::sqrt(expected.mean_square) * (is_input ? std::sqrt(3.0) : kReach);
  if (expected.negative_share == 0) return quantize::steps_of(0, reach);
  return quantize::steps_of(-reach, reach, {quantize::ZeroPoint::middle, quantize::Scales::any});
}

void quantize_all(graph::Graph& graph, std::span<const Builder::Statistics> expected) {
  const quantize::Places places = quantize::find_places(graph, {});
  std::map<graph::ValueId, passes::qdq::Quantization> steps;
  for (const graph::ValueId value : places.observed)
    steps[value] = steps_for(expected[static_cast<std::size_t>(value.index)], !graph.value(value).producer.valid());
  for (const auto& [value, first] : places.same_as) {
    graph::ValueId source = first;
    for (auto next = places.same_as.find(source); next != places.same_as.end(); next = places.same_as.find(source))
      source = next->second;
    steps[value] = steps.at(source);
  }
  quantize::insert_qdq(graph, places, steps, {});
}

// Makes the steps, not the real numbers, inputs and outputs.
void quantize_borders(graph::Graph& graph) {
  for (graph::ValueId& input : graph.inputs) {
    const std::vector<graph::NodeId> users = graph.users(input);
    DOVETAIL_CHECK(users.size() == 1, graph.value(input).name);
    const graph::Node& user = graph.node(users[0]);
    if (user.op == "MaxPool") {  // it selects steps as it selects numbers, and is not quantized alone
      graph.value(input).type.dtype = graph.value(user.outputs[0]).type.dtype = DType::int8;
      continue;
    }
    DOVETAIL_CHECK(user.op == "QuantizeLinear", graph.value(input).name);
    const graph::ValueId steps = graph.node(users[0]).outputs[0];
    graph.remove_node(users[0]);
    input = steps;
  }
  std::vector<graph::ValueId> outputs;
  for (const graph::ValueId output : graph.outputs) {
    const graph::NodeId last = graph.value(output).producer;
    if (graph.value(output).type.dtype == DType::int8) {
      outputs.push_back(output);
      continue;
    }
    DOVETAIL_CHECK(graph.node(last).op == "DequantizeLinear", graph.value(output).name);
    outputs.push_back(graph.node(last).inputs[0]);
    graph.remove_node(last);
  }
  graph.outputs = std::move(outputs);
  graph.compact();
}

}  // namespace

Result<graph::Graph> build_layers(std::string_view name, std::span<const Layer> layers, std::uint64_t seed) {
  if (layers.empty() || layers.size() > kMostLayers)
    return Diagnostic{"cannot build the layers", std::string(name),
                      fmt::format("there are {} layers, and must be 1 to {}", layers.size(), kMostLayers),
                      layers.empty() ? "add a layer" : "split the file"};
  zoo::Choices choices;
  choices.seed = seed;
  Builder builder(name, choices);
  for (const Layer& layer : layers)
    builder.output(std::visit([&](const auto& operation) { return add_operation(builder, layer.name, operation); },
                              layer.operation));
  const std::vector<Builder::Statistics> expected = builder.statistics();
  graph::Graph graph = std::move(builder).finish().graph;
  quantize_all(graph, expected);
  quantize_borders(graph);
  graph.apart = true;
  if (const auto verified = graph::verify(graph); !verified.ok())
    throw InternalError(to_string(verified.errors()) + to_string(graph));
  return graph;
}

}  // namespace dovetail::shapes

#include "driver/export_model.h"

#include "tests/catch.h"

using namespace dovetail;

TEST_CASE("scales of quantized inputs and outputs come from the operators at the border of the model") {
  graph::Graph graph;
  graph.name = "border";
  const auto scale = graph.add_constant("scale", NdArray::scalar<float>(0.5F));
  const auto point = graph.add_constant("point", NdArray::scalar<std::int8_t>(-3));
  const auto x = graph.add_value("x", {DType::int8, {4}}), r = graph.add_value("r", {DType::float32, {4}});
  const auto y = graph.add_value("y", {DType::int8, {4}}), z = graph.add_value("z", {DType::float32, {4}});
  graph.inputs = {x, z};
  const auto add = [&](const std::string& op, std::vector<graph::ValueId> inputs, graph::ValueId output) {
    graph::Node node;
    node.name = op, node.op = op, node.inputs = std::move(inputs), node.outputs = {output};
    graph.add_node(std::move(node));
  };
  add("DequantizeLinear", {x, scale, point}, r);
  add("QuantizeLinear", {r, scale, point}, y);
  const auto w = graph.add_value("w", {DType::float32, {4}});
  add("Relu", {z}, w);
  graph.outputs = std::vector{y, w};
  const auto found = driver::border_quantization(graph);
  CHECK(found.size() == 2);
  REQUIRE(found.contains("x"));
  REQUIRE(found.contains("y"));
  CHECK(found.at("x").scale == 0.5);
  CHECK(found.at("y").zero_point == -3);
}

// Graphs for text tests, one call per value; types are inferred by the operators.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ops/op.h"
#include "tests/catch.h"

namespace dovetail::test {

struct GraphMaker {
  graph::Graph graph;

  GraphMaker() { graph.name = "test"; }
  graph::ValueId input(const std::string& name, DType dtype, Shape shape) {
    graph.inputs.push_back(graph.add_value(name, {dtype, std::move(shape)}));
    return graph.inputs.back();
  }
  graph::ValueId constant(const std::string& name, NdArray array) { return graph.add_constant(name, std::move(array)); }
  graph::ValueId node(const std::string& op, const std::string& output, std::vector<graph::ValueId> inputs,
                      graph::Attributes attributes = {}) {
    const graph::ValueId value = graph.add_value(output, {});
    const graph::NodeId id = graph.add_node(
        {output + "_node", op, std::move(inputs), {value}, std::move(attributes), {output + "_node"}, false});
    if (auto inferred = ops::infer(graph, id); !inferred) FAIL(to_string(inferred.errors()));
    return value;
  }
  // scale and zero point as constants "<name>_s", "<name>_z".
  graph::ValueId quantize(const std::string& name, graph::ValueId x, float scale, int zero_point,
                          DType dtype = DType::int8) {
    const auto [s, z] = parameters(name, scale, zero_point, dtype);
    return node("QuantizeLinear", name, {x, s, z});
  }
  graph::ValueId dequantize(const std::string& name, graph::ValueId x, float scale, int zero_point) {
    const auto [s, z] = parameters(name, scale, zero_point, graph.value(x).type.dtype);
    return node("DequantizeLinear", name, {x, s, z});
  }
  // An int8 input of the graph after its DequantizeLinear.
  graph::ValueId int8_input(const std::string& name, Shape shape, float scale, int zero_point) {
    return dequantize(name + "_dq", input(name, DType::int8, std::move(shape)), scale, zero_point);
  }
  // Adds a QuantizeLinear and a DequantizeLinear: the form of an int8 activation for its reader.
  graph::ValueId activation(const std::string& name, graph::ValueId x, float scale, int zero_point,
                            DType dtype = DType::int8) {
    return dequantize(name + "_dq", quantize(name + "_q", x, scale, zero_point, dtype), scale, zero_point);
  }
  void output(graph::ValueId value) { graph.outputs.push_back(value); }

  // The graph's text from its first node, without constants.
  std::string nodes() const {
    REQUIRE(graph::verify(graph).ok());
    std::string text = to_string(graph), kept;
    for (std::size_t begin = text.find('\n') + 1, end; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      if (text.compare(begin, 11, "  constant ") != 0) kept += text.substr(begin, end + 1 - begin);
    }
    return kept;
  }
  const NdArray& constant_of(const std::string& name) const {
    const auto value = graph.find_value(name);
    REQUIRE(value.has_value());
    REQUIRE(graph.is_constant(*value));
    return *graph.value(*value).constant;
  }

 private:
  std::pair<graph::ValueId, graph::ValueId> parameters(const std::string& name, float scale, int zero_point,
                                                       DType dtype) {
    NdArray zero(dtype, {});
    zero.set_int64(0, zero_point);
    return {constant(name + "_s", NdArray::scalar(scale)), constant(name + "_z", std::move(zero))};
  }
};

}  // namespace dovetail::test

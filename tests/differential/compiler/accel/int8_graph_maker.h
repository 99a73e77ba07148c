// Graphs of int8 operators, written down node by node.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ops/op.h"
#include "tests/catch.h"

namespace dovetail::test {

// The last node makes the output.
struct Int8GraphMaker {
  graph::Graph graph;

  graph::ValueId input(Shape shape, const std::string& name = "x") {
    graph.inputs.push_back(graph.add_value(name, {DType::int8, std::move(shape)}));
    return graph.inputs.back();
  }
  graph::ValueId node(const std::string& op, const std::string& name, std::vector<graph::ValueId> inputs,
                      graph::Attributes attributes) {
    graph::Node node;
    node.name = name;
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.origins = {name};
    const graph::ValueId y = graph.add_value(name + "_out", {});
    node.outputs = {y};
    const auto status = ops::infer(graph, graph.add_node(std::move(node)));
    INFO((status.ok() ? "" : to_string(status.errors())));
    REQUIRE(status.ok());
    graph.outputs = {y};
    return y;
  }
  graph::ValueId weighted(const std::string& op, const std::string& name, graph::ValueId x, NdArray weights,
                          NdArray bias, NdArray scale, graph::Attributes attributes) {
    return node(op, name,
                {x, graph.add_constant("w", std::move(weights)), graph.add_constant("bias", std::move(bias)),
                 graph.add_constant("scale", std::move(scale))},
                std::move(attributes));
  }
};

}  // namespace dovetail::test

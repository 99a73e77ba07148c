// If, Loop and Scan. A graph holds no graphs: the importer puts the nodes of a subgraph in the place of the node that
// owns it, as soon as what decides about them is known; that must be a constant, or follow from constants and shapes.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/import/external_data.h"

namespace dovetail::onnx {
class Graph;
class Node;
class Tensor;
}  // namespace dovetail::onnx

namespace dovetail::import {

bool is_control_flow(std::string_view op);

class ControlFlow {
 public:
  explicit ControlFlow(ExternalData external) : external_(std::move(external)) {}
  const ExternalData& external() const { return external_; }

  // What the importer does with a node that comes out of a subgraph.
  struct Importer {
    std::function<bool(graph::NodeId)> infer;                  // its types; false: not taken, and reported
    std::function<std::string(graph::ValueId)> make_constant;  // else why not
    std::function<void(Diagnostic)> report;
  };

  // Values that a node's subgraphs use and do not define, in the order in which they follow its own inputs.
  static std::vector<std::string> captured(const onnx::Node& proto);
  // `proto` must live as long as this does. The node has `own_inputs` inputs, then those that are captured.
  void add(graph::NodeId node, const onnx::Node& proto, std::size_t own_inputs, std::vector<std::string> captured);
  bool holds(graph::NodeId node) const { return entries_.contains(node); }

  // Puts the nodes that run into the graph and removes the node. False where something was reported.
  bool expand(graph::Graph& graph, graph::NodeId node, std::int64_t opset, const Importer& importer);

 private:
  struct Entry {
    const onnx::Node* proto;
    std::size_t own_inputs;
    std::vector<std::string> captured;
  };
  friend class FlowExpansion;

  ExternalData external_;
  std::map<graph::NodeId, Entry> entries_;
  std::int64_t nodes_ = 0;  // put into the graph so far
};

}  // namespace dovetail::import

// If, Loop and Scan. Where what decides about the nodes of a subgraph is a constant, or follows from constants and
// shapes, they are put in the place of the node that owns it. Where it is data, If and Loop become nodes that hold
// their subgraphs (compiler/ops/control_flow.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
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
  // `loop_limit`: ImportOptions::loop_limit.
  ControlFlow(ExternalData external, std::int64_t loop_limit)
      : external_(std::move(external)), loop_limit_(loop_limit), spent_(std::make_shared<Spent>()) {}
  // Of the nodes of a subgraph, which are not inlined.
  ControlFlow for_subgraph() const;
  const ExternalData& external() const { return external_; }

  // What the importer does with a node that comes out of a subgraph.
  struct Importer {
    std::function<bool(graph::NodeId)> infer;                  // its types; false: not taken, and reported
    std::function<std::string(graph::ValueId)> make_constant;  // else why not
    // The same, and inputs of the model whose values are known become constants for it.
    std::function<std::string(graph::ValueId)> fix;
    std::function<void(Diagnostic)> report;
    std::function<bool(graph::ValueId)> has_extent;  // how many elements it has depends on values (extents.h)
    // Lets `fill` put nodes into a subgraph. Whatever is reported meanwhile is the result.
    std::function<Diagnostics(graph::Graph& subgraph, ControlFlow& flow,
                              const std::function<void(const Importer&)>& fill)>
        in_subgraph;
  };
  // What the values needed at compile time of a model and its subgraphs have cost (infer_types.cpp).
  struct Spent {
    std::int64_t nodes = 0;      // put into graphs in place of others
    std::int64_t attempted = 0;  // the same, and those that were taken out again
    std::int64_t bytes = 0;
    double steps = 0;
  };
  Spent& spent() { return *spent_; }

  // Values that a node's subgraphs use and do not define, in the order in which they follow its own inputs.
  static std::vector<std::string> captured(const onnx::Node& proto);
  // `proto` must live as long as this does. The node has `own_inputs` inputs, then those that are captured.
  void add(graph::NodeId node, const onnx::Node& proto, std::size_t own_inputs, std::vector<std::string> captured);
  bool holds(graph::NodeId node) const { return entries_.contains(node); }

  // Puts the nodes that run into the graph in place of the node, or one that holds them. False where something was
  // reported.
  bool expand(graph::Graph& graph, graph::NodeId node, std::int64_t opset, const Importer& importer);

 private:
  struct Entry {
    const onnx::Node* proto;
    std::size_t own_inputs;
    std::vector<std::string> captured;
  };
  friend class FlowExpansion;

  ExternalData external_;
  std::int64_t loop_limit_;
  int depth_ = 0;                 // in how many subgraphs its nodes are
  std::shared_ptr<Spent> spent_;  // of the model: subgraphs share it
  std::map<graph::NodeId, Entry> entries_;
};

}  // namespace dovetail::import

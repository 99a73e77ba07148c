// If, Loop and Scan. If the value that decides which nodes of a subgraph run is a constant, or follows from constants
// and shapes, these nodes replace the node that owns the subgraph. If it depends on data, If and Loop become nodes with
// subgraphs (compiler/ops/control_flow.h).
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
struct Graph;
struct Node;
struct Tensor;
}  // namespace dovetail::onnx

namespace dovetail::import {

bool is_control_flow(std::string_view op);

class ControlFlow {
 public:
  // `loop_limit`: ImportOptions::loop_limit.
  ControlFlow(ExternalData external, std::int64_t loop_limit)
      : external_(std::move(external)), loop_limit_(loop_limit), spent_(std::make_shared<Spent>()) {}
  // The same limits and counts for the nodes of a subgraph that is not inlined.
  ControlFlow for_subgraph() const;
  const ExternalData& external() const { return external_; }

  // What the importer does with a node that comes from a subgraph.
  struct Importer {
    std::function<bool(graph::NodeId)> infer;                  // infers its types; false: rejected and reported
    std::function<std::string(graph::ValueId)> make_constant;  // empty, or why it is not possible
    // The same, but inputs of the model whose values are known may become constants for it.
    std::function<std::string(graph::ValueId)> fix;
    std::function<void(Diagnostic)> report;
    std::function<bool(graph::ValueId)> has_extent;  // its number of elements depends on data (extents.h)
    // Lets `fill` add nodes to a subgraph. Returns what is reported meanwhile.
    std::function<Diagnostics(graph::Graph& subgraph, ControlFlow& flow,
                              const std::function<void(const Importer&)>& fill)>
        in_subgraph;
  };
  // The cost of the values of a model and its subgraphs that were needed at compile time (infer_types.cpp).
  struct Spent {
    std::int64_t nodes = 0;      // expanded from subgraphs
    std::int64_t attempted = 0;  // the same, including nodes that were removed again
    std::int64_t bytes = 0;
    double steps = 0;
  };
  Spent& spent() { return *spent_; }

  // Values that a node's subgraphs use but do not define, in the order in which they follow its own inputs.
  static std::vector<std::string> captured(const onnx::Node& proto);
  // `proto` must outlive this object. The node has `own_inputs` inputs, followed by the captured values.
  void add(graph::NodeId node, const onnx::Node& proto, std::size_t own_inputs, std::vector<std::string> captured);
  bool holds(graph::NodeId node) const { return entries_.contains(node); }

  // Replaces the node by the nodes that run, or by a node with the subgraphs. Returns false if something was reported.
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
  int depth_ = 0;                 // nesting depth of its nodes
  std::shared_ptr<Spent> spent_;  // one per model, shared by its subgraphs
  std::map<graph::NodeId, Entry> entries_;
};

}  // namespace dovetail::import

// Copies constants that subgraphs of control flow capture into the subgraphs, so that they are folded there and can be
// weights of their nodes; and removes operands that no subgraph reads.
#include <algorithm>
#include <map>
#include <memory>

#include "compiler/ops/control_flow.h"
#include "compiler/passes/list.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool is_read(const Graph& graph, ValueId value) { return graph.is_output(value) || graph.count_reads(value, 1) > 0; }

// Returns the number of removed operands.
int sink(Graph& graph, NodeId id) {
  std::vector<std::shared_ptr<Graph>> changed(graph.node(id).subgraphs.size());  // null: unchanged
  std::vector<ValueId> kept;
  std::map<std::size_t, std::vector<ValueId>> inputs;  // for changed subgraphs, the inputs that stay
  int gone = 0;
  const graph::Node& node = graph.node(id);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId operand = node.inputs[i];
    const auto place = ops::subgraph_input(node, i);
    if (!place) {
      kept.push_back(operand);
      continue;
    }
    const Graph& subgraph = *node.subgraphs[place->subgraph];
    const ValueId input = subgraph.inputs[place->input];
    const bool constant = graph.is_constant(operand);
    if (!ops::is_captured(node, i) || (!constant && is_read(subgraph, input))) {
      kept.push_back(operand);
      continue;
    }
    std::shared_ptr<Graph>& copy = changed[place->subgraph];
    if (copy == nullptr) copy = std::make_shared<Graph>(subgraph);
    std::erase(copy->inputs, input);
    if (constant) copy->value(input).constant = graph.value(operand).constant;
    ++gone;
  }
  if (gone == 0) return 0;
  for (auto& copy : changed)
    if (copy != nullptr) copy->compact();
  const graph::NodeEdit edit = graph.edit(id);
  edit->inputs = std::move(kept);
  for (std::size_t s = 0; s < changed.size(); ++s)
    if (changed[s] != nullptr) edit->subgraphs[s] = std::move(changed[s]);
  return gone;
}

}  // namespace

Result<PassOutcome> sink_into_subgraphs(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.live_nodes())
    if (!graph.node(id).subgraphs.empty()) outcome.changes += sink(graph, id);
  return outcome;
}

}  // namespace dovetail::passes

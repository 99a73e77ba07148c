// Removes nodes from which no graph output can be reached, and unused values.
#include "compiler/passes/list.h"

namespace dovetail::passes {

Result<PassOutcome> eliminate_dead_nodes(graph::Graph& graph, const PassContext&) {
  std::vector<bool> live(graph.nodes.size(), false);
  std::vector<graph::ValueId> open = graph.outputs;
  while (!open.empty()) {
    const graph::ValueId value = open.back();
    open.pop_back();
    if (!value.valid()) continue;
    const graph::NodeId producer = graph.value(value).producer;
    if (!producer.valid() || live[static_cast<std::size_t>(producer.index)]) continue;
    live[static_cast<std::size_t>(producer.index)] = true;
    const std::vector<graph::ValueId>& inputs = graph.node(producer).inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  PassOutcome outcome;
  for (graph::NodeId node : graph.live_nodes())
    if (!live[static_cast<std::size_t>(node.index)]) {
      graph.remove_node(node);
      ++outcome.changes;
    }
  if (outcome.changes > 0) graph.compact();
  return outcome;
}

}  // namespace dovetail::passes

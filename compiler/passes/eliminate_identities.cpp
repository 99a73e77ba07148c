#include "compiler/passes/eliminate_identities.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;
using graph::ValueId;

bool hands_on(const graph::Graph& graph, const graph::Node& node) {
  if (node.op == "Identity") return true;
  if (node.op == "Cast") return graph.value(node.inputs[0]).type.dtype == graph.value(node.outputs[0]).type.dtype;
  if (node.op != "Dropout") return false;
  if (node.outputs.size() > 1 && (graph.is_output(node.outputs[1]) || !graph.users(node.outputs[1]).empty())) return false;  // the mask is used
  if (node.inputs.size() <= 2 || !node.inputs[2].valid()) return true;
  const auto& training = graph.value(node.inputs[2]).constant;
  return training && training->as_int64(0) == 0;
}

}  // namespace

Result<PassOutcome> eliminate_identities(graph::Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (NodeId id : graph.topological_order()) {
    if (!hands_on(graph, graph.node(id))) continue;
    const ValueId input = graph.node(id).inputs[0], output = graph.node(id).outputs[0];
    if (!graph.is_output(output)) {
      graph.remove_node(id);
      graph.replace_uses(output, input);
    } else if (const NodeId producer = graph.value(input).producer; producer.valid() && !graph.is_output(input)) {
      // A graph output keeps its name: the producer of the input defines it instead.
      graph.remove_node(id);
      for (ValueId& defined : graph.node(producer).outputs)
        if (defined == input) defined = output;
      graph.value(output).producer = producer;
      graph.value(input).producer = {};
      graph.replace_uses(input, output);
    } else {
      continue;  // a graph input or constant, or two graph outputs of one value: the copy is what is asked for
    }
    ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes

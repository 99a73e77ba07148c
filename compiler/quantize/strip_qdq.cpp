#include "compiler/quantize/strip_qdq.h"

#include "compiler/passes/rewriting.h"

namespace dovetail::quantize {

std::size_t strip_qdq(graph::Graph& graph) {
  std::size_t stripped = 0;
  for (const graph::NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    if (node.removed || node.op != "DequantizeLinear") continue;
    const graph::NodeId producer = graph.value(node.inputs[0]).producer;
    if (!producer.valid() || graph.node(producer).op != "QuantizeLinear") continue;
    const graph::ValueId origin = graph.node(producer).inputs[0];
    if (graph.value(origin).type != graph.value(node.outputs[0]).type) continue;
    stripped += static_cast<std::size_t>(passes::bypass(graph, id, origin));
  }
  // Removes nodes that only the pairs used, later nodes first.
  const auto order = graph.topological_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const graph::Node& node = graph.node(*id);
    if (!node.removed && node.op == "QuantizeLinear" && !graph.is_output(node.outputs[0]) &&
        graph.users(node.outputs[0]).empty())
      graph.remove_node(*id);
  }
  return stripped;
}

}  // namespace dovetail::quantize

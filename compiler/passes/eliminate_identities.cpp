// Removes nodes that return their input: Identity, Dropout in inference, Cast to the same type, reshapes to the same
// shape, Transpose that moves nothing, Slice of everything, Pad by nothing, Expand and Tile that repeat nothing,
// Concat, Sum, Min, Max and Mean of one, Split into one.
#include <algorithm>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;

bool all_are(const graph::Graph& graph, const graph::Node& node, std::size_t position, std::int64_t number) {
  const auto values = integers(graph, node.inputs[position]);
  return values && std::all_of(values->begin(), values->end(), [&](std::int64_t value) { return value == number; });
}

bool hands_on(const graph::Graph& graph, const graph::Node& node) {
  if (node.op == "Identity") return true;
  if (node.op == "Dropout") {
    if (node.outputs.size() > 1 && (graph.is_output(node.outputs[1]) || !graph.users(node.outputs[1]).empty()))
      return false;  // the mask is used
    if (!has_input(node, 2)) return true;
    const auto& training = graph.value(node.inputs[2]).constant;
    return training && training->as_int64(0) == 0;
  }
  if (node.outputs.size() != 1 || node.inputs.empty() || !node.inputs[0].valid() ||
      graph.value(node.inputs[0]).type != graph.value(node.outputs[0]).type)
    return false;
  // Below, the types are the same.
  for (const char* op : {"Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile", "Split"})
    if (node.op == op) return true;
  for (const char* op : {"Concat", "Sum", "Min", "Max", "Mean"})
    if (node.op == op) return node.inputs.size() == 1;
  if (node.op == "Transpose") {
    const std::vector<std::int64_t> perm = graph::ints_attribute(node, "perm", {});
    return perm.empty() ? graph.value(node.inputs[0]).type.shape.size() <= 1 : std::is_sorted(perm.begin(), perm.end());
  }
  if (node.op == "Slice")
    return !has_input(node, 4) || all_are(graph, node, 4, 1);  // a step of -1 reverses the elements
  if (node.op == "Pad") return all_are(graph, node, 1, 0);     // pads of -1 and 1 would move the elements
  if (node.op == "Clip") return !has_input(node, 1) && !has_input(node, 2);
  return false;
}

}  // namespace

Result<PassOutcome> eliminate_identities(graph::Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order()) {
    if (graph.node(id).removed || !hands_on(graph, graph.node(id))) continue;
    // A node that copies a graph input or constant to a graph output cannot be bypassed: the copy is required.
    outcome.changes += bypass(graph, id, graph.node(id).inputs[0]);
  }
  return outcome;
}

}  // namespace dovetail::passes

// Moves a MaxPool before nodes that commute with it, to the integer convolution whose results it reads, so that targets
// may fuse the two: a Concat of such results along channels becomes a Concat of their poolings, and an increasing
// change of scale is applied to the pooled values. All values stay bit-identical.
#include <algorithm>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// A change of scale that increases with its operand: an Add of a number to a value without other readers.
std::optional<NodeId> rising_sum(const Graph& graph, ValueId value) {
  const auto id = produced_by(graph, value, "dovetail.qadd");
  if (!id || !used_once(graph, value)) return std::nullopt;
  const graph::Node& sum = graph.node(*id);
  const bool rises = graph::float_attribute(sum, "a_multiplier", 1) * graph::float_attribute(sum, "scale", 1) >= 0;
  return rises && uniform(graph, sum.inputs[1]) && used_once(graph, sum.inputs[0]) ? id : std::nullopt;
}

// Whether the value is the result of a convolution without other readers, perhaps with a change of scale after it.
bool is_convolution(const Graph& graph, ValueId value) {
  const auto sum = rising_sum(graph, value);
  const ValueId result = sum ? graph.node(*sum).inputs[0] : value;
  return produced_by(graph, result, "dovetail.qconv") && used_once(graph, result);
}

bool pool_before_sum(Graph& graph, NodeId id) {
  const graph::Node pool = graph.node(id);
  const auto sum = rising_sum(graph, pool.inputs[0]);
  if (!sum || !is_convolution(graph, pool.inputs[0])) return false;
  std::vector<ValueId> operands = graph.node(*sum).inputs;
  operands[0] = insert(graph, "MaxPool", pool.name, {operands[0]}, pool.attributes, pool.origins);
  return become(graph, id, "dovetail.qadd", operands, graph.node(*sum).attributes, {*sum});
}

bool pool_before_concat(Graph& graph, NodeId id) {
  const graph::Node pool = graph.node(id);
  const auto concat = produced_by(graph, pool.inputs[0], "Concat");
  if (!concat || !used_once(graph, pool.inputs[0])) return false;
  const std::vector<ValueId> parts = graph.node(*concat).inputs;
  const auto rank = static_cast<std::int64_t>(shape_of(graph, pool.inputs[0]).size()),
             axis = graph::int_attribute(graph.node(*concat), "axis", 0);
  const bool along_channels = axis == 1 || axis + rank == 1;
  if (!along_channels || !std::ranges::all_of(parts, [&](ValueId part) { return is_convolution(graph, part); }))
    return false;
  std::vector<ValueId> pooled;
  for (const ValueId part : parts)
    pooled.push_back(insert(graph, "MaxPool", pool.name, {part}, pool.attributes, pool.origins));
  return become(graph, id, "Concat", pooled, graph.node(*concat).attributes, {*concat});
}

}  // namespace

Result<PassOutcome> pool_early(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    if (node.removed || node.op != "MaxPool" || node.outputs.size() != 1) continue;
    if (pool_before_sum(graph, id) || pool_before_concat(graph, id)) ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes

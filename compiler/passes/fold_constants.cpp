#include "compiler/passes/fold_constants.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/passes/evaluate_node.h"

namespace dovetail::passes {
namespace {

std::int64_t bytes_of(const graph::Graph& graph, const std::vector<graph::ValueId>& values) {
  std::int64_t bytes = 0;
  for (graph::ValueId id : values)
    if (id.valid()) bytes += element_count(graph.value(id).type.shape) * size_bytes(graph.value(id).type.dtype);
  return bytes;
}

bool foldable(const graph::Graph& graph, const graph::Node& node, FoldScope scope) {
  if (needs_types_only(node)) return true;
  if (scope == FoldScope::keep_dequantised && node.op == "DequantizeLinear") return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](graph::ValueId input) { return !input.valid() || graph.is_constant(input); });
}

}  // namespace

Result<PassOutcome> fold_constants(graph::Graph& graph, const PassContext& context, FoldScope scope) {
  PassOutcome outcome;
  for (graph::NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    if (!foldable(graph, node, scope)) continue;
    const std::int64_t bytes = bytes_of(graph, node.outputs);
    if (bytes > std::max(kFoldedBytesLimit, bytes_of(graph, node.inputs))) {
      outcome.notes.push_back(fmt::format("{} ({}) is constant but not folded: {} MiB > {} MiB", node.name, node.op, bytes >> 20, kFoldedBytesLimit >> 20));
      continue;
    }
    DOVETAIL_ASSIGN(std::vector<NdArray> values, evaluate_node(graph, id, context.evaluate));
    replace_by_constants(graph, id, std::move(values));
    ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes

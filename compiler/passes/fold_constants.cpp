// Evaluates nodes whose inputs are constant, and Shape and Size, at compile time.
#include "compiler/passes/fold_constants.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "compiler/passes/evaluate_node.h"
#include "compiler/passes/list.h"

namespace dovetail::passes {
namespace {

// Counts each value once: repeated Concats of a value with itself would double the size without end.
std::int64_t bytes_of(const graph::Graph& graph, const std::vector<graph::ValueId>& values) {
  std::int64_t bytes = 0;
  for (graph::ValueId id : std::set(values.begin(), values.end()))
    if (id.valid()) bytes += element_count(graph.value(id).type.shape) * size_bytes(graph.value(id).type.dtype);
  return bytes;
}

double mebibytes(std::int64_t bytes) { return std::ldexp(static_cast<double>(bytes), -20); }

bool foldable(const graph::Graph& graph, const graph::Node& node, FoldScope scope) {
  if (needs_types_only(node)) return true;
  if (!node.subgraphs.empty()) return false;  // it is not known here how often a subgraph runs
  if (scope == FoldScope::keep_dequantized && node.op == "DequantizeLinear") return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](graph::ValueId input) { return !input.valid() || graph.is_constant(input); });
}

}  // namespace

Result<PassOutcome> fold_constants(graph::Graph& graph, const PassContext& context, FoldScope scope) {
  PassOutcome outcome;
  double steps_left = context.evaluation_steps;
  std::int64_t bytes_left = context.folded_bytes;
  for (graph::NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    if (!foldable(graph, node, scope)) continue;
    const auto leave = [&](const std::string& why) {
      outcome.notes.push_back(fmt::format("{} ({}) is constant but not folded: {}", node.name, node.op, why));
    };
    const std::int64_t bytes = bytes_of(graph, node.outputs), held = bytes_of(graph, node.inputs);
    if (bytes > std::max(kFoldedBytesLimit, held)) {
      leave(fmt::format("{} MiB > {} MiB", bytes >> 20, kFoldedBytesLimit >> 20));
      continue;
    }
    const std::int64_t more = std::max<std::int64_t>(0, bytes - held);
    if (more > bytes_left) {
      leave(fmt::format("{:.1f} MiB more exceed the remaining {:.1f} MiB of {:.1f} MiB for the constants of a graph",
                        mebibytes(more), mebibytes(bytes_left), mebibytes(context.folded_bytes)));
      continue;
    }
    const double steps = evaluation_steps(graph, id);
    if (steps > steps_left) {
      leave(fmt::format("its {:.1e} steps exceed the remaining {:.1e} of {:.1e} for the constants of a graph", steps,
                        steps_left, context.evaluation_steps));
      continue;
    }
    bytes_left -= more;
    steps_left -= steps;
    DOVETAIL_ASSIGN(std::vector<NdArray> values, evaluate_node(graph, id, context.evaluate));
    replace_by_constants(graph, id, std::move(values));
    ++outcome.changes;
  }
  return outcome;
}

Result<PassOutcome> fold_constants(graph::Graph& graph, const PassContext& context) {
  return fold_constants(graph, context, FoldScope::everything);
}

}  // namespace dovetail::passes

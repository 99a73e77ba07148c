// Merges constants with equal types and bytes, and nodes with equal operators, attributes and operands.
#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "compiler/passes/list.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;
using graph::ValueId;

// A hash of the first and the last bytes, which differ between weights. Constants with equal hashes are compared.
std::size_t hash_of(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = 256;
  const auto hash = [](std::span<const std::byte> part) {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(part.data()), part.size()});
  };
  if (bytes.size() <= 2 * kMost) return hash(bytes);
  return hash(bytes.first(kMost)) + 3 * hash(bytes.last(kMost)) + 5 * bytes.size();
}

int merge_constants(graph::Graph& graph) {
  int merged = 0;
  std::unordered_map<std::size_t, std::vector<ValueId>> by_hash;
  std::vector<ValueId> kept_for(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const graph::Value& value = graph.values[i];
    const ValueId id{static_cast<std::int32_t>(i)};
    kept_for[i] = id;
    if (!value.constant) continue;
    std::vector<ValueId>& candidates = by_hash[hash_of(value.constant->bytes())];
    const auto same = std::find_if(candidates.begin(), candidates.end(),
                                   [&](ValueId other) { return *graph.value(other).constant == *value.constant; });
    if (same == candidates.end()) candidates.push_back(id);
    else kept_for[i] = *same;
  }
  const auto kept = [&](ValueId input) { return kept_for[static_cast<std::size_t>(input.index)]; };
  for (const NodeId id : graph.live_nodes())
    if (std::ranges::any_of(graph.node(id).inputs,
                            [&](ValueId input) { return input.valid() && kept(input) != input; }))
      for (ValueId& input : graph.edit(id)->inputs)
        if (input.valid() && kept(input) != input) input = kept(input), ++merged;
  return merged;
}

// Whether a result is a graph output, which keeps its own value, since its name is part of the interface.
bool has_output(const graph::Graph& graph, const graph::Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return graph.is_output(output); });
}

bool equal(const graph::Node& a, const graph::Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs.size() == b.outputs.size() && a.attributes == b.attributes &&
         a.subgraphs == b.subgraphs;
}

}  // namespace

Result<PassOutcome> eliminate_common_subexpressions(graph::Graph& graph, const PassContext&) {
  PassOutcome outcome;
  outcome.changes = merge_constants(graph);
  std::map<std::pair<std::string, std::vector<ValueId>>, std::vector<NodeId>> seen;
  for (NodeId id : graph.topological_order()) {
    std::vector<NodeId>& candidates = seen[{graph.node(id).op, graph.node(id).inputs}];
    const auto same = std::find_if(candidates.begin(), candidates.end(),
                                   [&](NodeId other) { return equal(graph.node(other), graph.node(id)); });
    if (same == candidates.end() || has_output(graph, graph.node(id))) {
      candidates.push_back(id);
      continue;
    }
    const std::vector<ValueId> outputs = graph.node(id).outputs;
    const graph::NodeEdit kept = graph.edit(*same);
    std::vector<std::string>& origins = kept->origins;
    for (const std::string& origin : graph.node(id).origins)
      if (std::find(origins.begin(), origins.end(), origin) == origins.end()) origins.push_back(origin);
    graph.remove_node(id);
    for (std::size_t i = 0; i < outputs.size(); ++i) graph.replace_uses(outputs[i], graph.node(*same).outputs[i]);
    ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes

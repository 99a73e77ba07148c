#include "compiler/graph/extract.h"

#include <algorithm>
#include <map>

namespace dovetail::graph {

Graph extract(const Graph& graph, const std::set<NodeId>& nodes) {
  Graph part;
  part.name = graph.name;
  std::map<ValueId, ValueId> at;
  const auto operand = [&](ValueId id) {
    if (!id.valid()) return id;
    const auto [known, is_new] = at.try_emplace(id);
    if (is_new) {
      const Value& value = graph.value(id);
      known->second = part.add_value_as_is({value.name, value.type, value.constant, {}});
      if (!value.constant) part.inputs.push_back(known->second);
    }
    return known->second;
  };
  for (const NodeId id : graph.topological_order()) {
    if (!nodes.contains(id)) continue;
    Node node = graph.node(id);
    std::ranges::transform(node.inputs, node.inputs.begin(), operand);
    for (ValueId& output : node.outputs) {
      const ValueId before = output;
      if (!before.valid()) continue;
      output = part.add_value_as_is({graph.value(before).name, graph.value(before).type, std::nullopt, {}});
      at[before] = output;
      const std::vector<NodeId> users = graph.users(before);
      if (graph.is_output(before) || users.empty() ||
          std::ranges::any_of(users, [&](NodeId user) { return !nodes.contains(user); }))
        part.outputs.push_back(output);
    }
    part.add_node(std::move(node));
  }
  for (const OutputExtent& row : graph.extents) {
    const auto has = [&](const std::string& name) {
      const auto id = part.find_value(name);
      return id && part.is_output(*id);
    };
    if (has(row.output) && has(row.extent)) part.extents.push_back(row);
  }
  return part;
}

}  // namespace dovetail::graph

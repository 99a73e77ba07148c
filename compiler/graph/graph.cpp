#include "compiler/graph/graph.h"

#include <algorithm>
#include <queue>
#include <utility>

#include <fmt/format.h>

namespace dovetail::graph {
namespace {

// `stem`, or the first of stem_2, stem_3, ... for which `taken` is false.
template <typename Taken>
std::string first_free(std::string_view stem, const Taken& taken) {
  std::string name(stem);
  for (int i = 2; taken(name); ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

template <typename T>
const T* attribute(const Node& node, std::string_view name) {
  const auto found = node.attributes.find(std::string(name));
  if (found == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  DOVETAIL_CHECK(value, fmt::format("attribute {} of {} ({}) has another kind", name, node.name, node.op));
  return value;
}

}  // namespace

std::string Graph::unique_value_name(std::string_view stem) const {
  return first_free(stem, [&](const std::string& name) {
    return std::any_of(values.begin(), values.end(), [&](const Value& value) { return value.name == name; });
  });
}

std::string Graph::unique_node_name(std::string_view stem) const {
  return first_free(stem, [&](const std::string& name) { return find_node(name).has_value(); });
}

ValueId Graph::add_value(std::string_view stem, TensorType type) {
  Value value;
  value.name = unique_value_name(stem);
  value.type = std::move(type);
  values.push_back(std::move(value));
  return {static_cast<std::int32_t>(values.size()) - 1};
}

ValueId Graph::add_constant(std::string_view stem, NdArray array) {
  const ValueId id = add_value(stem, {array.dtype(), array.shape()});
  value(id).constant = std::move(array);
  return id;
}

NodeId Graph::add_node(Node node) {
  const NodeId id{static_cast<std::int32_t>(nodes.size())};
  for (ValueId output : node.outputs) {
    DOVETAIL_CHECK(!value(output).producer.valid() && !value(output).constant,
                   fmt::format("%{} is defined already; node {} cannot define it", value(output).name, node.name));
    value(output).producer = id;
  }
  nodes.push_back(std::move(node));
  return id;
}

void Graph::remove_node(NodeId id) {
  for (ValueId output : node(id).outputs) value(output).producer = {};
  node(id).removed = true;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes)
    if (!node.removed) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(outputs.begin(), outputs.end(), from, to);
}

std::vector<NodeId> Graph::users(ValueId id) const {
  std::vector<NodeId> found;
  for (NodeId candidate : live_nodes()) {
    const std::vector<ValueId>& operands = node(candidate).inputs;
    if (std::find(operands.begin(), operands.end(), id) != operands.end()) found.push_back(candidate);
  }
  return found;
}

bool Graph::is_output(ValueId id) const { return std::find(outputs.begin(), outputs.end(), id) != outputs.end(); }

std::vector<NodeId> Graph::live_nodes() const {
  std::vector<NodeId> live;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!nodes[i].removed) live.push_back({static_cast<std::int32_t>(i)});
  return live;
}

std::vector<NodeId> Graph::topological_order() const {
  // Kahn's algorithm; among the ready nodes the one of the lowest id goes first, which makes the order stable.
  std::vector<std::int32_t> missing(nodes.size(), 0);
  std::vector<std::vector<std::int32_t>> users_of(nodes.size());
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  std::size_t live = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].removed) continue;
    ++live;
    for (ValueId input : nodes[i].inputs)
      if (input.valid() && value(input).producer.valid()) {
        users_of[static_cast<std::size_t>(value(input).producer.index)].push_back(static_cast<std::int32_t>(i));
        ++missing[i];
      }
    if (missing[i] == 0) ready.push(static_cast<std::int32_t>(i));
  }
  std::vector<NodeId> order;
  order.reserve(live);
  while (!ready.empty()) {
    const std::int32_t next = ready.top();
    ready.pop();
    order.push_back({next});
    for (std::int32_t user : users_of[static_cast<std::size_t>(next)])
      if (--missing[static_cast<std::size_t>(user)] == 0) ready.push(user);
  }
  DOVETAIL_CHECK(order.size() == live, fmt::format("graph {} is cyclic", name));
  return order;
}

std::optional<ValueId> Graph::find_value(std::string_view name) const {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].name == name) return ValueId{static_cast<std::int32_t>(i)};
  return std::nullopt;
}

std::optional<NodeId> Graph::find_node(std::string_view name) const {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!nodes[i].removed && nodes[i].name == name) return NodeId{static_cast<std::int32_t>(i)};
  return std::nullopt;
}

void Graph::compact() {
  std::vector<bool> used(values.size(), false);
  const auto mark = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids)
      if (id.valid()) used[static_cast<std::size_t>(id.index)] = true;
  };
  mark(inputs);
  mark(outputs);
  for (const Node& node : nodes)
    if (!node.removed) mark(node.inputs), mark(node.outputs);

  std::vector<std::int32_t> value_at(values.size(), -1), node_at(nodes.size(), -1);
  std::vector<Value> kept_values;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (used[i]) {
      value_at[i] = static_cast<std::int32_t>(kept_values.size());
      kept_values.push_back(std::move(values[i]));
    }
  std::vector<Node> kept_nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!nodes[i].removed) {
      node_at[i] = static_cast<std::int32_t>(kept_nodes.size());
      kept_nodes.push_back(std::move(nodes[i]));
    }
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids)
      if (id.valid()) id.index = value_at[static_cast<std::size_t>(id.index)];
  };
  renumber(inputs);
  renumber(outputs);
  for (Node& node : kept_nodes) renumber(node.inputs), renumber(node.outputs);
  for (Value& value : kept_values)
    if (value.producer.valid()) value.producer.index = node_at[static_cast<std::size_t>(value.producer.index)];
  values = std::move(kept_values);
  nodes = std::move(kept_nodes);
}

std::int64_t int_attribute(const Node& node, std::string_view name, std::int64_t fallback) {
  const auto* value = attribute<std::int64_t>(node, name);
  return value ? *value : fallback;
}
double float_attribute(const Node& node, std::string_view name, double fallback) {
  const auto* value = attribute<double>(node, name);
  return value ? *value : fallback;
}
std::string string_attribute(const Node& node, std::string_view name, std::string_view fallback) {
  const auto* value = attribute<std::string>(node, name);
  return value ? *value : std::string(fallback);
}
std::vector<std::int64_t> ints_attribute(const Node& node, std::string_view name, std::vector<std::int64_t> fallback) {
  const auto* value = attribute<std::vector<std::int64_t>>(node, name);
  return value ? *value : fallback;
}

}  // namespace dovetail::graph

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
  DOVETAIL_CHECK(value, fmt::format("attribute {} of {} ({}) must have the requested kind", name, node.name, node.op));
  return value;
}

}  // namespace

NodeEdit::NodeEdit(Graph& graph, NodeId id) : graph_(graph), id_(id) { graph.open_edits_.push_back(id); }

NodeEdit::~NodeEdit() {
  graph_.index();  // updates the index for the open edits, including this one
  graph_.open_edits_.erase(std::find(graph_.open_edits_.begin(), graph_.open_edits_.end(), id_));
}

Node& NodeEdit::operator*() const { return graph_.nodes.items_[static_cast<std::size_t>(id_.index)]; }

const GraphIndex& Graph::index() const {
  const auto add = [&](NodeId id) {
    const Node& node = this->node(id);
    if (node.removed) return;
    for (const ValueId input : node.inputs)
      if (input.valid()) index_.add_reader(input, id);
    index_.add_name(node.name, id);
  };
  for (; index_.values < values.size(); ++index_.values)
    index_.value_of.emplace(values[index_.values].name, ValueId{static_cast<std::int32_t>(index_.values)});
  for (; index_.nodes < nodes.size(); ++index_.nodes) add({static_cast<std::int32_t>(index_.nodes)});
  for (const NodeId id : open_edits_) add(id);
  return index_;
}

std::string Graph::unique_value_name(std::string_view stem) const {
  return first_free(stem, [&](const std::string& name) { return find_value(name).has_value(); });
}

std::string Graph::unique_node_name(std::string_view stem) const {
  return first_free(stem, [&](const std::string& name) { return find_node(name).has_value(); });
}

ValueId Graph::add_value_as_is(Value value) {
  values.items_.push_back(std::move(value));
  return {static_cast<std::int32_t>(values.size()) - 1};
}

ValueId Graph::add_value(std::string_view stem, TensorType type) {
  return add_value_as_is({unique_value_name(stem), std::move(type), std::nullopt, {}});
}

ValueId Graph::add_constant(std::string_view stem, NdArray array) {
  const ValueId id = add_value(stem, {array.dtype(), array.shape()});
  value(id).constant = frozen(std::move(array));
  return id;
}

NodeId Graph::add_node(Node node) {
  const NodeId id{static_cast<std::int32_t>(nodes.size())};
  for (ValueId output : node.outputs) {
    DOVETAIL_CHECK(!value(output).producer.valid() && !value(output).constant,
                   fmt::format("%{} is defined already; node {} cannot define it", value(output).name, node.name));
    value(output).producer = id;
  }
  nodes.items_.push_back(std::move(node));
  return id;
}

void Graph::remove_node(NodeId id) {
  for (ValueId output : node(id).outputs) value(output).producer = {};
  nodes.items_[static_cast<std::size_t>(id.index)].removed = true;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (const NodeId id : users(from)) {
    std::vector<ValueId>& operands = nodes.items_[static_cast<std::size_t>(id.index)].inputs;
    std::replace(operands.begin(), operands.end(), from, to);
    if (to.valid()) index_.add_reader(to, id);
  }
  outputs.replace(from, to);
}

bool Graph::reads(NodeId id, ValueId value) const {
  const Node& reader = node(id);
  return !reader.removed && std::find(reader.inputs.begin(), reader.inputs.end(), value) != reader.inputs.end();
}

std::vector<NodeId> Graph::users(ValueId id) const {
  index();
  const auto at = static_cast<std::size_t>(id.index);
  if (!id.valid() || at >= index_.readers.size()) return {};
  std::erase_if(index_.readers[at], [&](NodeId reader) { return !reads(reader, id); });
  return index_.readers[at];
}

std::size_t Graph::count_reads(ValueId id, std::size_t enough) const {
  index();
  const auto at = static_cast<std::size_t>(id.index);
  if (!id.valid() || at >= index_.readers.size()) return 0;
  std::size_t count = 0;
  for (const NodeId reader : index_.readers[at]) {
    if (count >= enough) break;
    const Node& candidate = node(reader);
    if (!candidate.removed)
      count += static_cast<std::size_t>(std::count(candidate.inputs.begin(), candidate.inputs.end(), id));
  }
  return std::min(count, enough);
}

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
  DOVETAIL_CHECK(order.size() == live, fmt::format("graph {} must be acyclic", name));
  return order;
}

std::optional<ValueId> Graph::find_value(std::string_view name) const {
  const auto& known = index().value_of;
  const auto found = known.find(std::string(name));
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

std::optional<NodeId> Graph::find_node(std::string_view name) const {
  const auto& known = index().nodes_of;
  const auto found = known.find(std::string(name));
  if (found == known.end()) return std::nullopt;
  std::optional<NodeId> first;
  for (const NodeId id : found->second)
    if (!node(id).removed && node(id).name == name && (!first || id < *first)) first = id;
  return first;
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
      kept_values.push_back(std::move(values.items_[i]));
    }
  std::vector<Node> kept_nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!nodes[i].removed) {
      node_at[i] = static_cast<std::int32_t>(kept_nodes.size());
      kept_nodes.push_back(std::move(nodes.items_[i]));
    }
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids)
      if (id.valid()) id.index = value_at[static_cast<std::size_t>(id.index)];
  };
  renumber(inputs);
  std::vector<ValueId> kept_outputs = outputs;
  renumber(kept_outputs);
  outputs = std::move(kept_outputs);
  for (Node& node : kept_nodes) renumber(node.inputs), renumber(node.outputs);
  for (Value& value : kept_values)
    if (value.producer.valid()) value.producer.index = node_at[static_cast<std::size_t>(value.producer.index)];
  values.items_ = std::move(kept_values);
  nodes.items_ = std::move(kept_nodes);
  index_ = {};
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

#include "compiler/quantize/functions.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/passes/qdq/lowering.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

bool is_float32(const Graph& graph, ValueId value) { return graph.value(value).type.dtype == DType::float32; }

// The tensor of which a node's result is an elementwise function, if all its operands are constants or functions of
// that one tensor.
struct Part {
  ValueId tensor;
  std::optional<std::int64_t> axis;  // along which constants vary
};
std::optional<Part> part_of(const Graph& graph, const Node& node, const std::map<ValueId, ValueId>& tensors) {
  if (node.outputs.size() != 1 || !is_float32(graph, node.outputs[0]) || !passes::qdq::is_pointwise(node.op) ||
      node.op == "BatchNormalization")
    return std::nullopt;
  const Shape& shape = graph.value(node.outputs[0]).type.shape;
  Part part;
  for (const ValueId input : node.inputs) {
    if (!input.valid()) continue;
    if (graph.is_constant(input)) {
      const Shape& own = graph.value(input).type.shape;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const std::int64_t axis = std::ssize(shape) - std::ssize(own) + static_cast<std::int64_t>(i);
        if (own[i] == 1) continue;
        if (axis < 0 || part.axis.value_or(axis) != axis) return std::nullopt;
        part.axis = axis;
      }
      continue;
    }
    const auto known = tensors.find(input);
    const ValueId tensor = known == tensors.end() ? input : known->second;
    if (!is_float32(graph, input) || (part.tensor.valid() && part.tensor != tensor)) return std::nullopt;
    part.tensor = tensor;
  }
  if (!part.tensor.valid() || graph.value(part.tensor).type.shape != shape) return std::nullopt;
  return part;
}

struct Family {
  std::vector<NodeId> nodes;
  std::optional<std::int64_t> axis;
};

}  // namespace

Functions find_functions(const Graph& graph, const std::set<NodeId>& apart, bool (*may_end)(const Node& node)) {
  std::map<ValueId, ValueId> tensors;  // of each value that is a function
  std::map<ValueId, Family> families;  // by tensor
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (apart.count(id)) continue;
    const auto part = part_of(graph, node, tensors);
    if (!part) continue;
    Family& family = families[part->tensor];
    if (part->axis && family.axis.value_or(*part->axis) != *part->axis) continue;
    if (part->axis) family.axis = part->axis;
    family.nodes.push_back(id);
    tensors.emplace(node.outputs[0], part->tensor);
  }
  Functions found;
  for (const auto& [tensor, family] : families) {
    std::set<ValueId> ends;
    for (const NodeId id : family.nodes) {
      const ValueId value = graph.node(id).outputs[0];
      const std::vector<NodeId> users = graph.users(value);
      const bool inside = std::ranges::all_of(users, [&](NodeId user) {
        const auto known = tensors.find(graph.node(user).outputs[0]);
        return known != tensors.end() && known->second == tensor;
      });
      if (!inside || graph.is_output(value)) ends.insert(value);
    }
    if (!std::ranges::all_of(ends, [&](ValueId end) { return may_end(graph.node(graph.value(end).producer)); }))
      continue;
    for (const NodeId id : family.nodes) found.nodes.emplace(id, tensor);
    found.ends.merge(ends);
  }
  return found;
}

}  // namespace dovetail::quantize

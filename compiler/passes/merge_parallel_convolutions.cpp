// Merges convolutions with the same input and geometry into one convolution, and likewise Gemm and MatMul with constant
// weights, together with an activation that all of them have. A Split gives each reader its part, unless all parts are
// concatenated in order. Operators are merged only if the idle vector lanes and kernel starts that this saves cost more
// than the Split's moves (kProductsPerByte). A note gives both numbers for operators that are not merged.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr std::int64_t kLanes = 16;            // float32 lanes of a vector
constexpr double kProductsPerByte = 2.5;       // multiply-adds that take as long as moving a byte
constexpr double kProductsPerKernel = 25'000;  // multiply-adds that take as long as starting a kernel

struct Member {
  NodeId linear;
  std::optional<NodeId> activation;
  std::int64_t outputs;
  ValueId value;  // the result that readers use
};

bool outputs_first(const graph::Node& node) {
  return node.op == "Conv" || (node.op == "Gemm" && graph::int_attribute(node, "transB", 0) != 0);
}

// The properties that merged nodes must share, as text; empty if the node cannot be merged.
std::string geometry(const Graph& graph, const graph::Node& node) {
  if ((node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul") || node.outputs.size() != 1 ||
      !is_float(graph, node.outputs[0]))
    return {};
  if (!graph.is_constant(node.inputs[1]) || graph.is_constant(node.inputs[0]) || graph.is_output(node.outputs[0]))
    return {};
  const NdArray& weight = *graph.value(node.inputs[1]).constant;
  if (node.op == "Conv" && graph::int_attribute(node, "group", 1) != 1) return {};
  if (weight.count() == 0 || (node.op != "Conv" && weight.rank() != 2)) return {};
  if (has_input(node, 2)) {
    const Shape row{weight.shape()[outputs_first(node) ? 0 : 1]};
    if (!graph.is_constant(node.inputs[2]) || graph.value(node.inputs[2]).constant->shape() != row) return {};
  }
  std::string text = fmt::format("{} {}", node.op, node.inputs[0].index);
  for (const auto& [name, value] : node.attributes) {
    if (name == "group" || name == "kernel_shape") continue;  // group is 1, and the weight determines kernel_shape
    text += " " + name;
    if (const auto* i = std::get_if<std::int64_t>(&value)) text += fmt::format(" {}", *i);
    else if (const auto* d = std::get_if<double>(&value)) text += fmt::format(" {}", *d);
    else if (const auto* s = std::get_if<std::string>(&value)) text += " " + *s;
    else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) text += to_string(Shape(*list));
    else return {};
  }
  if (node.op == "Conv") text += to_string(Shape(weight.shape().begin() + 1, weight.shape().end()));
  return text;
}

// Whether every member is followed by a Relu, or a Clip with the same bounds; adds them to the members.
bool share_activation(const Graph& graph, std::vector<Member>& members) {
  std::vector<NodeId> found;
  for (const Member& member : members) {
    const std::vector<NodeId> users = graph.users(member.value);
    if (users.size() != 1 || !used_once(graph, member.value)) return false;
    found.push_back(users[0]);
    const graph::Node &node = graph.node(users[0]), &first = graph.node(found[0]);
    if ((node.op != "Relu" && node.op != "Clip") || node.op != first.op || node.inputs[0] != member.value ||
        graph.is_output(node.outputs[0]))
      return false;
    if (!std::equal(node.inputs.begin() + 1, node.inputs.end(), first.inputs.begin() + 1, first.inputs.end()))
      return false;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].activation = found[i];
    members[i].value = graph.node(found[i]).outputs[0];
  }
  return true;
}

// The Concat along `axis` that reads all parts consecutively, and the position of the first part in its operands.
std::optional<std::pair<NodeId, std::size_t>> common_concat(const Graph& graph, std::vector<Member>& members,
                                                            std::size_t axis) {
  if (!used_once(graph, members[0].value)) return std::nullopt;
  const NodeId id = graph.users(members[0].value)[0];
  const graph::Node& node = graph.node(id);
  const std::int64_t given = node.op == "Concat" ? graph::int_attribute(node, "axis", 0) : -1000;
  const auto rank = static_cast<std::int64_t>(graph.value(node.outputs[0]).type.shape.size());
  if (node.op != "Concat" || (given < 0 ? given + rank : given) != static_cast<std::int64_t>(axis)) return std::nullopt;
  const auto position = [&](const Member& member) {
    return std::find(node.inputs.begin(), node.inputs.end(), member.value) - node.inputs.begin();
  };
  if (std::any_of(members.begin(), members.end(), [&](const Member& member) {
        return !used_once(graph, member.value) || position(member) == static_cast<std::ptrdiff_t>(node.inputs.size());
      }))
    return std::nullopt;
  std::sort(members.begin(), members.end(),
            [&](const Member& a, const Member& b) { return position(a) < position(b); });
  for (std::size_t i = 1; i < members.size(); ++i)
    if (position(members[i]) != position(members[i - 1]) + 1) return std::nullopt;
  return std::pair{id, static_cast<std::size_t>(position(members[0]))};
}

NdArray join(const std::vector<const NdArray*>& parts, std::size_t axis) {
  Shape shape = parts[0]->shape();
  shape[axis] = 0;
  for (const NdArray* part : parts) shape[axis] += part->shape()[axis];
  NdArray joined(parts[0]->dtype(), shape);
  std::int64_t outer = 1, at = 0;
  for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (std::int64_t o = 0; o < outer; ++o)
    for (const NdArray* part : parts) {
      const std::int64_t block = part->count() / outer;
      for (std::int64_t i = 0; i < block; ++i) joined.set_double(at++, part->as_double(o * block + i));
    }
  return joined;
}

std::int64_t padded(std::int64_t channels) { return (channels + kLanes - 1) / kLanes * kLanes; }

bool merge(Graph& graph, std::vector<Member> members, PassOutcome& outcome) {
  const graph::Node first = graph.node(members[0].linear);
  const std::size_t rank = graph.value(first.outputs[0]).type.shape.size(), axis = first.op == "Conv" ? 1 : rank - 1;
  share_activation(graph, members);
  const auto concat = common_concat(graph, members, axis);
  // The cost of the Split.
  std::int64_t total = 0;
  double bytes = 0, idle = 0;
  std::string names;
  for (const Member& member : members) {
    const graph::TensorType& type = graph.value(member.value).type;
    const NdArray& weight = *graph.value(graph.node(member.linear).inputs[1]).constant;
    const double results = static_cast<double>(element_count(type.shape)),
                 each = static_cast<double>(weight.count()) / static_cast<double>(member.outputs);
    total += member.outputs;
    bytes += concat ? 0 : 2 * results * size_bytes(type.dtype);
    idle += results / static_cast<double>(member.outputs) * each * static_cast<double>(padded(member.outputs));
    names += (names.empty() ? "" : ", ") + graph.node(member.linear).name;
  }
  {
    const double places = static_cast<double>(element_count(graph.value(members[0].value).type.shape)) /
                          static_cast<double>(members[0].outputs);
    const NdArray& weight = *graph.value(first.inputs[1]).constant;
    idle -= places * static_cast<double>(weight.count()) / static_cast<double>(members[0].outputs) *
            static_cast<double>(padded(total));
  }
  const double saved = idle + kProductsPerKernel * static_cast<double>(members.size() - 1),
               cost = bytes * kProductsPerByte;
  if (saved <= cost) {
    outcome.notes.push_back(
        fmt::format("{} read the same input but are not merged: merging saves {:.0f} thousand products, but the Split "
                    "costs as much as {:.0f} thousand",
                    names, saved / 1e3, cost / 1e3));
    return false;
  }
  // One bias for all members: zeros for members without a bias.
  std::vector<const NdArray*> weights, biases;
  std::vector<NdArray> zeros;
  bool biased = false;
  zeros.reserve(members.size());
  std::vector<std::string> origins;
  for (const Member& member : members) {
    const graph::Node& node = graph.node(member.linear);
    weights.push_back(&*graph.value(node.inputs[1]).constant);
    zeros.emplace_back(weights.back()->dtype(), Shape{member.outputs});
    biases.push_back(has_input(node, 2) ? &*graph.value(node.inputs[2]).constant : &zeros.back());
    biased |= has_input(node, 2);
    origins.insert(origins.end(), node.origins.begin(), node.origins.end());
    if (member.activation)
      origins.insert(origins.end(), graph.node(*member.activation).origins.begin(),
                     graph.node(*member.activation).origins.end());
  }
  NdArray weight = join(weights, outputs_first(first) ? 0 : 1);
  std::vector<ValueId> inputs{first.inputs[0]};
  std::optional<NdArray> bias;
  if (biased) bias = join(biases, 0);
  inputs.push_back(graph.add_constant(first.name + "/merged_weight", std::move(weight)));
  if (bias) inputs.push_back(graph.add_constant(first.name + "/merged_bias", *std::move(bias)));
  ValueId whole = insert(graph, first.op, first.name + "/merged", inputs, first.attributes, origins);
  if (members[0].activation) {
    const graph::Node activation = graph.node(*members[0].activation);
    std::vector<ValueId> operands = activation.inputs;
    operands[0] = whole;
    whole =
        insert(graph, activation.op, activation.name + "/merged", operands, activation.attributes, activation.origins);
  }
  if (concat) {
    const graph::Node node = graph.node(concat->first);
    std::vector<ValueId> operands = node.inputs;
    const auto begin = operands.begin() + static_cast<std::ptrdiff_t>(concat->second);
    operands.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(members.size()));
    operands[concat->second] = whole;
    const bool done = become(graph, concat->first, "Concat", operands, node.attributes);
    DOVETAIL_CHECK(done, "the merged part has the extent of the parts");
    ++outcome.changes;
    return true;
  }
  std::vector<std::int64_t> sizes;
  graph::Node split;
  for (const Member& member : members) {
    sizes.push_back(member.outputs);
    const graph::TensorType type = graph.value(member.value).type;
    const NodeId producer = graph.value(member.value).producer;
    graph.remove_node(producer);
    if (member.activation) graph.remove_node(member.linear);
    graph.value(member.value).type = type;
    split.outputs.push_back(member.value);
  }
  split.name = graph.unique_node_name(first.name + "/split");
  split.op = "Split";
  split.inputs = {whole, add_integers(graph, first.name + "/sizes", sizes)};
  split.attributes = {{"axis", static_cast<std::int64_t>(axis)}};
  split.origins = origins;
  graph.add_node(std::move(split));
  ++outcome.changes;
  return true;
}

}  // namespace

Result<PassOutcome> merge_parallel_convolutions(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  std::map<std::string, std::vector<Member>> members;
  std::vector<std::string> order;
  for (const NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    const std::string key = geometry(graph, node);
    if (key.empty()) continue;
    if (members[key].empty()) order.push_back(key);
    members[key].push_back({id, std::nullopt,
                            graph.value(node.inputs[1]).constant->shape()[outputs_first(node) ? 0 : 1],
                            node.outputs[0]});
  }
  for (const std::string& key : order)
    if (members[key].size() > 1) merge(graph, std::move(members[key]), outcome);
  return outcome;
}

}  // namespace dovetail::passes

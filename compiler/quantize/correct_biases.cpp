#include "compiler/quantize/correct_biases.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "compiler/passes/rewriting.h"
#include "compiler/quantize/insert_qdq.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

bool has_weights(const Node& node) { return node.op == "Conv" || node.op == "Gemm" || node.op == "MatMul"; }

// The axis of the result that indexes the output channels.
std::int64_t channel_axis(const Node& node, const Shape& shape) {
  return node.op == "Conv" ? 1 : static_cast<std::int64_t>(shape.size()) - 1;
}

// Whether shifts can be added to the bias: absent, or a constant with one number per output.
bool takes_shift(const Graph& graph, const Node& node, std::int64_t outputs) {
  if (node.op == "Gemm" && graph::float_attribute(node, "beta", 1) != 1) return false;
  return !passes::has_input(node, 2) ||
         (graph.is_constant(node.inputs[2]) && graph.value(node.inputs[2]).type.shape == Shape{outputs});
}

// The Add of a constant row that is the only reader of a product.
std::optional<NodeId> row_after(const Graph& graph, const Node& node, std::int64_t outputs) {
  if (!passes::used_once(graph, node.outputs[0])) return std::nullopt;
  const NodeId user = graph.users(node.outputs[0])[0];
  const Node& add = graph.node(user);
  if (add.op != "Add") return std::nullopt;
  const ValueId row = add.inputs[add.inputs[0] == node.outputs[0] ? 1 : 0];
  return graph.is_constant(row) && graph.value(row).type.shape == Shape{outputs} ? std::optional(user) : std::nullopt;
}

NdArray shifted(const NdArray* bias, const std::vector<double>& shift) {
  NdArray sum(DType::float32, {static_cast<std::int64_t>(shift.size())});
  for (std::int64_t i = 0; i < sum.count(); ++i)
    sum.set_double(i, (bias == nullptr ? 0 : bias->as_double(i)) + shift[static_cast<std::size_t>(i)]);
  return sum;
}

void correct_product(Graph& graph, NodeId id, const std::vector<double>& shift) {
  const Node node = graph.node(id);
  if (const auto add = row_after(graph, node, static_cast<std::int64_t>(shift.size()))) {
    const std::size_t at = graph.node(*add).inputs[0] == node.outputs[0] ? 1 : 0;
    const graph::Value& row = graph.value(graph.node(*add).inputs[at]);
    const ValueId corrected = graph.add_constant(row.name + "/corrected", shifted(&*row.constant, shift));
    graph.edit(*add)->inputs[at] = corrected;
    return;
  }
  // The new Add yields the ValueId that the product had, since places and ranges are keyed by it.
  const ValueId result = node.outputs[0];
  const ValueId bias = graph.add_constant(node.name + "/bias", shifted(nullptr, shift)),
                product = graph.add_value(graph.value(result).name + "/product", graph.value(result).type);
  graph.edit(id)->outputs[0] = product;
  graph.value(product).producer = id;
  graph.value(result).producer = {};
  Node add;
  add.name = graph.unique_node_name(node.name + "/corrected");
  add.op = "Add";
  add.inputs = {product, bias};
  add.outputs = {result};
  add.origins = node.origins;
  graph.add_node(std::move(add));
}

}  // namespace

Result<Shifts> measure_shifts(const Graph& model, const Graph& quantized, std::span<const Values> samples,
                              const MakeForward& make_forward, const Progress& progress) {
  struct Measured {
    NodeId node;
    std::string mean;  // output with the mean of the difference
  };
  Graph both = model;
  std::vector<Measured> measured;
  std::vector<ValueId> means;
  for (const NodeId id : model.topological_order()) {
    const Node& node = model.node(id);
    if (!has_weights(node) || !model.is_constant(node.inputs[1])) continue;
    const Node& rounded = quantized.node(id);
    if (rounded.inputs[1] == node.inputs[1]) continue;  // stays float
    const auto weight = real_constant(quantized, rounded.inputs[1]);
    const Shape& shape = model.value(node.outputs[0]).type.shape;
    if (!weight || shape.size() < 2) continue;
    std::vector<ValueId> inputs{node.inputs[0], both.add_constant(node.name + "/rounded", *weight)};
    if (passes::has_input(node, 2)) {
      const auto bias = real_constant(quantized, rounded.inputs[2]);
      if (!bias) continue;
      inputs.push_back(both.add_constant(node.name + "/rounded_bias", *bias));
    }
    const ValueId other =
        passes::insert(both, node.op, node.name + "/with_rounded", inputs, node.attributes, node.origins);
    const ValueId difference =
        passes::insert(both, "Sub", node.name + "/difference", {node.outputs[0], other}, {}, node.origins);
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis)
      if (axis != channel_axis(node, shape)) axes.push_back(axis);
    const ValueId mean = passes::insert(both, "ReduceMean", node.name + "/shift",
                                        {difference, passes::add_integers(both, node.name + "/axes", axes)},
                                        {{"keepdims", std::int64_t{0}}}, node.origins);
    measured.push_back({id, both.value(mean).name});
    means.push_back(mean);
  }
  Shifts shifts;
  if (means.empty()) return shifts;
  DOVETAIL_ASSIGN(const Forward forward, make_forward(with_outputs(std::move(both), means)));
  const auto add = [&](const Values& values) {
    for (const Measured& each : measured) {
      const NdArray& mean = values.at(each.mean);
      std::vector<double>& sum = shifts[each.node];
      sum.resize(static_cast<std::size_t>(mean.count()));
      for (std::int64_t i = 0; i < mean.count(); ++i)
        sum[static_cast<std::size_t>(i)] += mean.as_double(i) / static_cast<double>(samples.size());
    }
  };
  DOVETAIL_TRY(run_all(forward, samples, "biases", progress, add));
  return shifts;
}

std::vector<std::string> correct_biases(Graph& model, const Shifts& shifts) {
  std::vector<std::string> corrected;
  for (const auto& [id, shift] : shifts) {
    const Node node = model.node(id);
    if (node.op == "MatMul") {
      correct_product(model, id, shift);
    } else {
      if (!takes_shift(model, node, static_cast<std::int64_t>(shift.size()))) continue;
      const bool has_bias = passes::has_input(node, 2);
      const ValueId bias = model.add_constant(
          node.name + "/corrected_bias", shifted(has_bias ? &*model.value(node.inputs[2]).constant : nullptr, shift));
      const graph::NodeEdit changed = model.edit(id);
      changed->inputs.resize(3);
      changed->inputs[2] = bias;
    }
    corrected.push_back(node.name);
  }
  return corrected;
}

}  // namespace dovetail::quantize

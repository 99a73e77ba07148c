#include "compiler/quantize/correct_biases.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/saturating.h"
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
  // The new Add defines the product's ValueId, since places and ranges are keyed by it.
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

struct Measured {
  NodeId node;
  NdArray weight;
  std::optional<NdArray> bias;
  std::string mean = {};  // output with the mean of the difference
  std::vector<double> sum = {};
};

// Nothing if the weights stay float.
std::optional<Measured> measured_layer(const Graph& model, const Graph& quantized, NodeId id) {
  const Node& node = model.node(id);
  if (!has_weights(node) || !model.is_constant(node.inputs[1])) return std::nullopt;
  const Node& rounded = quantized.node(id);
  if (rounded.inputs[1] == node.inputs[1]) return std::nullopt;
  auto weight = real_constant(quantized, rounded.inputs[1]);
  if (!weight || model.value(node.outputs[0]).type.shape.size() < 2) return std::nullopt;
  std::optional<NdArray> bias;
  if (passes::has_input(node, 2)) {
    bias = real_constant(quantized, rounded.inputs[2]);
    if (!bias) return std::nullopt;
  }
  return Measured{id, *std::move(weight), std::move(bias)};
}

// Adds the node with rounded weights, and the mean of the difference, which is the result.
ValueId add_mean(Graph& both, Measured& layer) {
  const Node node = both.node(layer.node);
  std::vector<ValueId> inputs{node.inputs[0], both.add_constant(node.name + "/rounded", layer.weight)};
  if (layer.bias) inputs.push_back(both.add_constant(node.name + "/rounded_bias", *layer.bias));
  const ValueId other =
      passes::insert(both, node.op, node.name + "/with_rounded", inputs, node.attributes, node.origins);
  const ValueId difference =
      passes::insert(both, "Sub", node.name + "/difference", {node.outputs[0], other}, {}, node.origins);
  const Shape& shape = both.value(node.outputs[0]).type.shape;
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis)
    if (axis != channel_axis(node, shape)) axes.push_back(axis);
  const ValueId mean = passes::insert(both, "ReduceMean", node.name + "/shift",
                                      {difference, passes::add_integers(both, node.name + "/axes", axes)},
                                      {{"keepdims", std::int64_t{0}}}, node.origins);
  layer.mean = both.value(mean).name;
  return mean;
}

}  // namespace

Result<Shifts> measure_shifts(const Graph& model, const Graph& quantized, const Runs& runs,
                              const MakeForward& make_forward) {
  std::vector<Measured> measured;
  for (const NodeId id : model.topological_order())
    if (auto layer = measured_layer(model, quantized, id)) measured.push_back(*std::move(layer));
  Forward forward;
  std::vector<Sum> sums;
  for (Measured& layer : measured)
    sums.push_back({.name = model.node(layer.node).name,
                    .add = [&]() -> Result<void> {
                      DOVETAIL_ASSIGN(const NdArray mean, forward.output(layer.mean));
                      layer.sum.resize(static_cast<std::size_t>(mean.count()));
                      for (std::int64_t i = 0; i < mean.count(); ++i)
                        layer.sum[static_cast<std::size_t>(i)] +=
                            mean.as_double(i) / static_cast<double>(runs.samples().count);
                      return {};
                    },
                    .to_json = [&layer] { return Json(layer.sum); },
                    .from_json = [&layer](const Json& json) { layer.sum = json.get<std::vector<double>>(); }});
  // The memory of a layer: its result with rounded weights, the difference, and the rounded constants. Those results
  // may be computed last, so operands and first results must be stored until then.
  const auto bytes_of = [&](Range range) {
    std::uint64_t most = 0, constants = 0;
    std::vector<ValueId> kept;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const Node& node = model.node(measured[i].node);
      kept.insert(kept.end(), {node.inputs[0], node.outputs[0]});
      const Shape& shape = model.value(node.outputs[0]).type.shape;
      most = std::max(most, 2 * sizeof(float) * static_cast<std::uint64_t>(element_count(shape)));
      constants += 2 * sizeof(float) * static_cast<std::uint64_t>(measured[i].weight.count());
    }
    return saturating_sum(peak_bytes(model, kept), most + constants);
  };
  DOVETAIL_TRY(runs.sum("biases", sums, model.name, bytes_of, [&](Range range) -> Result<Runs::Run> {
    forward = {};
    Graph both = model;
    std::vector<ValueId> means;
    for (std::size_t i = range.begin; i < range.end; ++i) means.push_back(add_mean(both, measured[i]));
    DOVETAIL_ASSIGN(forward, make_forward(with_outputs(std::move(both), means)));
    return Runs::Run([&](const Values& sample) { return forward.run(sample); });
  }));
  Shifts shifts;
  for (Measured& layer : measured) shifts[layer.node] = std::move(layer.sum);
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

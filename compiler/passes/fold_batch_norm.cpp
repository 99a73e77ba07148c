// BatchNormalization after a convolution becomes part of its weights and bias: w' = w * g / sqrt(v + e), b' = (b - m)
// * g / sqrt(v + e) + beta, computed in binary64 and rounded once; only if the convolution's result has no other
// user. Any other normalization with constant statistics becomes a product and a sum per channel, which fold_scales may
// fold, and which otherwise cost one multiply-add.
#include <algorithm>
#include <cmath>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;
using graph::ValueId;

bool is_constant_norm(const graph::Graph& graph, const graph::Node& norm) {
  if (norm.op != "BatchNormalization" || norm.outputs.size() != 1 || norm.inputs.size() != 5 ||
      graph::int_attribute(norm, "training_mode", 0) != 0)
    return false;
  return std::all_of(norm.inputs.begin() + 1, norm.inputs.end(),
                     [&](ValueId input) { return graph.is_constant(input); });
}

// The convolution before the normalization, if the normalization can be folded into it.
NodeId foldable_convolution(const graph::Graph& graph, const graph::Node& norm) {
  const ValueId input = norm.inputs[0];
  const NodeId conv = graph.value(input).producer;
  if (!conv.valid() || graph.node(conv).op != "Conv" || graph.is_output(input) || graph.users(input).size() != 1)
    return {};
  const graph::Node& node = graph.node(conv);
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  if (!graph.is_constant(node.inputs[1]) || (has_bias && !graph.is_constant(node.inputs[2]))) return {};
  return conv;
}

// False if a weight or bias would exceed the range of its type.
bool fold(graph::Graph& graph, NodeId norm_id, NodeId conv_id) {
  const graph::Node norm = graph.node(norm_id);
  const auto parameter = [&](std::size_t input, std::int64_t channel) {
    return graph.value(norm.inputs[input]).constant->as_double(channel);
  };
  const double epsilon = static_cast<float>(graph::float_attribute(norm, "epsilon", 1e-5));
  const graph::Node conv = graph.node(conv_id);
  const NdArray& weight = *graph.value(conv.inputs[1]).constant;
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2].valid();
  const std::int64_t channels = weight.shape()[0], per_channel = channels ? weight.count() / channels : 0;

  std::vector<double> folded_weight, folded_bias;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double factor = parameter(1, c) / std::sqrt(parameter(4, c) + epsilon);
    for (std::int64_t i = c * per_channel; i < (c + 1) * per_channel; ++i)
      folded_weight.push_back(weight.as_double(i) * factor);
    const double bias = has_bias ? graph.value(conv.inputs[2]).constant->as_double(c) : 0.0;
    folded_bias.push_back((bias - parameter(3, c)) * factor + parameter(2, c));
  }
  auto weights = rounded(weight.dtype(), weight.shape(), folded_weight);
  auto biases = rounded(weight.dtype(), {channels}, folded_bias);
  if (!weights || !biases) return false;
  const ValueId new_weight = graph.add_constant(conv.name + "/weight", *std::move(weights));
  const ValueId new_bias = graph.add_constant(conv.name + "/bias", *std::move(biases));

  graph.remove_node(norm_id);
  graph.value(conv.outputs[0]).producer = {};
  graph.value(norm.outputs[0]).producer = conv_id;
  const graph::NodeEdit node = graph.edit(conv_id);
  node->inputs = {conv.inputs[0], new_weight, new_bias};
  node->outputs = norm.outputs;
  node->origins.insert(node->origins.end(), norm.origins.begin(), norm.origins.end());
  return true;
}

// x * g / sqrt(v + e) + (beta - m * g / sqrt(v + e)).
bool to_scale_and_shift(graph::Graph& graph, NodeId id) {
  const graph::Node norm = graph.node(id);
  const graph::TensorType x = graph.value(norm.inputs[0]).type;
  if (x.shape.size() < 2) return false;
  const std::int64_t channels = x.shape[1];
  const auto parameter = [&](std::size_t input, std::int64_t channel) {
    return graph.value(norm.inputs[input]).constant->as_double(channel);
  };
  const double epsilon = static_cast<float>(graph::float_attribute(norm, "epsilon", 1e-5));
  std::vector<double> scale, shift;
  for (std::int64_t c = 0; c < channels; ++c) {
    scale.push_back(parameter(1, c) / std::sqrt(parameter(4, c) + epsilon));
    shift.push_back(parameter(2, c) - parameter(3, c) * scale.back());
  }
  Shape per_channel(x.shape.size() - 1, 1);
  per_channel[0] = channels;
  auto scales = rounded(x.dtype, per_channel, scale), shifts = rounded(x.dtype, per_channel, shift);
  if (!scales || !shifts) return false;
  const ValueId product =
      insert(graph, "Mul", norm.name + "/scaled",
             {norm.inputs[0], graph.add_constant(norm.name + "/scale", *std::move(scales))}, {}, norm.origins);
  return become(graph, id, "Add", {product, graph.add_constant(norm.name + "/shift", *std::move(shifts))});
}

}  // namespace

Result<PassOutcome> fold_batch_norm(graph::Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (NodeId id : graph.topological_order()) {
    if (!is_constant_norm(graph, graph.node(id))) continue;
    const NodeId conv = foldable_convolution(graph, graph.node(id));
    if ((conv.valid() && fold(graph, id, conv)) || to_scale_and_shift(graph, id)) ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes

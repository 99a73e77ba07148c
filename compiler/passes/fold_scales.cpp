// Folds products and sums with a constant per channel into the weights and bias of a Conv, ConvTranspose, Gemm or
// MatMul with constant weights: after it, over its output channels, and before it, over its input channels. A sum
// before a convolution needs one without padding, since pads are added after the sum; a sum before a ConvTranspose
// stays, since its results add up different numbers of products. Computed in binary64 and rounded once; not folded if a
// weight would leave the normal range of its type.
#include <algorithm>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// A linear node as [outputs][inputs] weights and a bias, independent of its operator's layout.
struct Linear {
  const Graph& graph;
  const graph::Node& node;

  bool spreads() const { return node.op == "ConvTranspose"; }  // weights [inputs, outputs / group, taps...]
  bool conv() const { return node.op == "Conv" || spreads(); }
  bool known() const {
    if (!conv() && node.op != "Gemm" && node.op != "MatMul") return false;
    if (node.outputs.size() != 1 || !is_float(graph, node.outputs[0]) || !graph.is_constant(node.inputs[1]))
      return false;
    return node.op != "MatMul" || (weight().rank() == 2 && graph.value(node.inputs[0]).type.shape.size() >= 2);
  }
  const NdArray& weight() const { return *graph.value(node.inputs[1]).constant; }
  bool flag(std::string_view name) const { return graph::int_attribute(node, name, 0) != 0; }
  // Axes of the activations.
  std::size_t input_axis() const {
    return conv() || node.op == "Gemm" ? 1 : graph.value(node.inputs[0]).type.shape.size() - 1;
  }
  std::size_t output_axis() const {
    return conv() || node.op == "Gemm" ? 1 : graph.value(node.outputs[0]).type.shape.size() - 1;
  }
  bool outputs_first() const { return node.op == "Conv" || (node.op == "Gemm" && flag("transB")); }
  std::int64_t groups() const { return conv() ? graph::int_attribute(node, "group", 1) : 1; }
  std::int64_t outputs() const { return weight().shape()[outputs_first() ? 0 : 1] * (spreads() ? groups() : 1); }
  std::int64_t inputs_each() const {  // per output
    return weight().shape()[outputs_first() ? 1 : 0] / (spreads() ? groups() : 1);
  }
  std::int64_t taps() const {
    return conv() && inputs_each() > 0 && outputs() > 0 ? weight().count() / outputs() / inputs_each() : 1;
  }
  std::int64_t position(std::int64_t o, std::int64_t i, std::int64_t tap) const {
    if (outputs_first()) return (o * inputs_each() + i) * taps() + tap;
    const std::int64_t each_group = outputs() / groups();
    return (channel(o, i) * each_group + o % each_group) * taps() + tap;
  }
  // The activations' channel that output o reads as its i-th input.
  std::int64_t channel(std::int64_t o, std::int64_t i) const { return o / (outputs() / groups()) * inputs_each() + i; }
  // The bias of each output, zeros without a bias (beta * C, where C may be absent); nullopt if it is not constant, or
  // more than a row.
  std::optional<std::vector<double>> bias() const {
    std::vector<double> zeros(static_cast<std::size_t>(outputs()), 0.0);
    const double beta = node.op == "Gemm" ? graph::float_attribute(node, "beta", 1) : 1.0;
    if (node.op == "MatMul" || !has_input(node, 2) || beta == 0) return zeros;
    auto values = conv() ? along_axis(graph, node.inputs[2], {outputs()}, 0)
                         : along_axis(graph, node.inputs[2], graph.value(node.outputs[0]).type.shape, 1);
    if (values)
      for (double& value : *values) value *= beta;
    return values;
  }
};

// `weights` and `bias` replace those of the node; the bias is added without a factor beta.
bool rebuild(Graph& graph, NodeId into, NodeId linear_id, ValueId x, std::optional<std::vector<double>> weights,
             std::optional<std::vector<double>> bias, const std::vector<NodeId>& absorbed) {
  const graph::Node node = graph.node(linear_id);
  const Linear linear{graph, node};
  std::vector<ValueId> inputs{x, node.inputs[1], has_input(node, 2) ? node.inputs[2] : ValueId{}};
  graph::Attributes attributes = node.attributes;
  const DType dtype = linear.weight().dtype();
  std::optional<NdArray> new_weight, new_bias;
  if (weights && !(new_weight = rounded(dtype, linear.weight().shape(), *weights))) return false;
  if (bias && !(new_bias = rounded(dtype, {linear.outputs()}, *bias))) return false;
  if (new_weight) inputs[1] = graph.add_constant(node.name + "/weight", *std::move(new_weight));
  if (new_bias) {
    inputs[2] = graph.add_constant(node.name + "/bias", *std::move(new_bias));
    attributes.erase("beta");  // it is part of the new bias
  }
  if (!become(graph, into, node.op, inputs, attributes, absorbed)) return false;
  // The node keeps the name of the layer, which reports show, instead of that of the product after it.
  if (into != linear_id && graph.node(linear_id).removed) graph.edit(into)->name = node.name;
  return true;
}

// The constant operand of an Add, Mul or Div, and the other operand.
struct Term {
  ValueId x, constant;
  bool sum = false, quotient = false;
};
std::optional<Term> term_of(const Graph& graph, const graph::Node& node) {
  if (node.outputs.size() != 1 || (node.op != "Add" && node.op != "Mul" && node.op != "Div") ||
      !is_float(graph, node.outputs[0]))
    return std::nullopt;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    if (!graph.is_constant(node.inputs[i]) || graph.is_constant(node.inputs[1 - i]) || (node.op == "Div" && i == 0))
      continue;
    const ValueId x = node.inputs[1 - i];
    if (graph.value(x).type == graph.value(node.outputs[0]).type)
      return Term{x, node.inputs[i], node.op == "Add", node.op == "Div"};
  }
  return std::nullopt;
}

bool fold_following(Graph& graph, NodeId id) {
  const auto term = term_of(graph, graph.node(id));
  if (!term || !used_once(graph, term->x)) return false;
  const NodeId linear_id = graph.value(term->x).producer;
  if (!linear_id.valid()) return false;
  const graph::Node node = graph.node(linear_id);
  const Linear linear{graph, node};
  if (!linear.known()) return false;
  auto factors = along_axis(graph, term->constant, graph.value(term->x).type.shape, linear.output_axis());
  if (!factors) return false;
  auto bias = linear.bias();
  if (!bias) return false;
  const auto outputs = static_cast<std::size_t>(linear.outputs());
  if (term->sum) {
    if (node.op == "MatMul") return false;  // left to fuse_matmul_add, if Gemm supports it
    for (std::size_t o = 0; o < outputs; ++o) (*bias)[o] += (*factors)[o];
    return rebuild(graph, id, linear_id, node.inputs[0], std::nullopt, bias, {linear_id});
  }
  if (term->quotient)
    for (double& factor : *factors) factor = 1 / factor;
  std::vector<double> weights(static_cast<std::size_t>(linear.weight().count()));
  for (std::int64_t o = 0; o < linear.outputs(); ++o)
    for (std::int64_t i = 0; i < linear.inputs_each(); ++i)
      for (std::int64_t tap = 0; tap < linear.taps(); ++tap) {
        const std::int64_t at = linear.position(o, i, tap);
        weights[static_cast<std::size_t>(at)] = linear.weight().as_double(at) * (*factors)[static_cast<std::size_t>(o)];
      }
  for (std::size_t o = 0; o < outputs; ++o) (*bias)[o] *= (*factors)[o];
  if (!has_input(node, 2)) bias.reset();
  return rebuild(graph, id, linear_id, node.inputs[0], weights, bias, {linear_id});
}

bool adds_pads(const graph::Node& conv) {
  const std::string auto_pad = graph::string_attribute(conv, "auto_pad", "NOTSET");
  if (auto_pad == "VALID") return false;
  const std::vector<std::int64_t> pads = graph::ints_attribute(conv, "pads", {});
  return auto_pad != "NOTSET" || std::any_of(pads.begin(), pads.end(), [](std::int64_t n) { return n != 0; });
}

bool fold_preceding(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  const Linear linear{graph, node};
  if (!linear.known() || linear.flag("transA") || !used_once(graph, node.inputs[0])) return false;
  const NodeId term_id = graph.value(node.inputs[0]).producer;
  if (!term_id.valid()) return false;
  const auto term = term_of(graph, graph.node(term_id));
  if (!term) return false;
  auto factors = along_axis(graph, term->constant, graph.value(term->x).type.shape, linear.input_axis());
  if (!factors) return false;
  if (term->quotient)
    for (double& factor : *factors) factor = 1 / factor;
  auto bias = linear.bias();
  if (!bias) return false;
  if (term->sum && (node.op == "MatMul" || linear.spreads() || (linear.conv() && adds_pads(node)))) return false;
  std::vector<double> weights(static_cast<std::size_t>(linear.weight().count()));
  const double alpha = node.op == "Gemm" ? graph::float_attribute(node, "alpha", 1) : 1.0;
  for (std::int64_t o = 0; o < linear.outputs(); ++o)
    for (std::int64_t i = 0; i < linear.inputs_each(); ++i) {
      const double factor = (*factors)[static_cast<std::size_t>(linear.channel(o, i))];
      for (std::int64_t tap = 0; tap < linear.taps(); ++tap) {
        const std::int64_t at = linear.position(o, i, tap);
        const double w = linear.weight().as_double(at);
        weights[static_cast<std::size_t>(at)] = w * factor;
        if (term->sum) (*bias)[static_cast<std::size_t>(o)] += alpha * w * factor;
      }
    }
  if (term->sum) return rebuild(graph, id, id, term->x, std::nullopt, bias, {term_id});
  return rebuild(graph, id, id, term->x, weights, std::nullopt, {term_id});
}

}  // namespace

Result<PassOutcome> fold_scales(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order()) {
    if (!graph.node(id).removed && fold_following(graph, id)) ++outcome.changes;
    if (!graph.node(id).removed && fold_preceding(graph, id)) ++outcome.changes;
  }
  return outcome;
}

}  // namespace dovetail::passes

// Turns a ConvTranspose with constant weights into a Conv that computes the elements between two inputs as channels
// (phases), and a depth-to-space movement that interleaves them. A direct definition would multiply stride^2 times as
// many values, mostly zeros.
//
// Element q · stride + r of the whole product (0 <= r < stride) is Σ x[q − t] · w[r + t · stride]: for each r a
// convolution with every stride-th tap. If the strides do not divide the kernel, the missing taps are zeros, which turn
// an infinite input into NaN, so it is a pass of level 2.
#include "compiler/passes/lower_conv_transpose.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/ops/conv_transpose.h"
#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;
using graph::ValueId;
using ops::ConvTransposeShape;

// One axis: the Conv has `taps`, reads `before` zeros before the input and `after` zeros after it, and has `positions`
// outputs, each of which becomes `stride` elements; the result begins with element `skipped`.
struct Phase {
  std::int64_t stride, dilation, taps, before, after, positions, skipped;
};

// nullopt if stride and dilation of an axis both exceed 1: its phases would have different taps.
std::optional<std::vector<Phase>> phases_of(const ConvTransposeShape& s) {
  std::vector<Phase> phases;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    if (s.strides[d] > 1 && s.dilations[d] > 1) return std::nullopt;
    Phase p{s.strides[d], s.dilations[d], (s.kernel[d] + s.strides[d] - 1) / s.strides[d], 0, 0, 0, 0};
    const std::int64_t reach = (p.taps - 1) * p.dilation;  // elements that the first position reads before its own
    const std::int64_t first = std::clamp<std::int64_t>(s.pad_begin[d] / p.stride, 0, reach);
    p.skipped = s.pad_begin[d] - first * p.stride;
    if (p.skipped < 0) return std::nullopt;
    p.before = reach - first;
    p.positions = (p.skipped + s.output[d] + p.stride - 1) / p.stride;
    p.after = p.positions + reach - s.input[d] - p.before;
    if (p.after < 0) {  // positions that are not needed: computed and cut off
      p.positions -= p.after;
      p.after = 0;
    }
    phases.push_back(p);
  }
  return phases;
}

// [inputs, outputs / group, kernel...] as the Conv's [outputs * strides, inputs / group, taps...]. `missing`: the value
// of missing taps.
NdArray phase_weights(const NdArray& w, const ConvTransposeShape& s, const std::vector<Phase>& phases,
                      double missing = 0) {
  const std::int64_t inputs = s.in_channels / s.group, outputs = s.out_channels / s.group;
  std::int64_t parts = 1;
  Shape shape{0, inputs};
  for (const Phase& p : phases) {
    parts *= p.stride;
    shape.push_back(p.taps);
  }
  shape[0] = s.out_channels * parts;
  NdArray result(w.dtype(), shape);
  const std::int64_t taps = element_count(shape) / (shape[0] * inputs), kernel = element_count(s.kernel);
  for (std::int64_t to = 0; to < result.count(); ++to) {
    std::int64_t tap = to % taps, part = to / (taps * inputs) % parts, source = 0, weight = 1;
    const std::int64_t input = to / taps % inputs, output = to / (taps * inputs * parts);
    bool inside = true;
    for (std::size_t d = phases.size(); d-- > 0;) {
      const Phase& p = phases[d];
      // The Conv's taps have the reverse order.
      const std::int64_t place = part % p.stride + p.stride * (p.taps - 1 - tap % p.taps);
      inside = inside && place < s.kernel[d];
      source += place * weight;
      weight *= s.kernel[d];
      tap /= p.taps;
      part /= p.stride;
    }
    if (!inside) {
      result.set_double(to, missing);
      continue;
    }
    const std::int64_t channel = output / outputs * inputs + input;
    result.set_double(to, w.as_double((channel * outputs + output % outputs) * kernel + source));
  }
  return result;
}

NdArray repeated(const NdArray& bias, std::int64_t times) {
  NdArray result(bias.dtype(), {bias.count() * times});
  for (std::int64_t i = 0; i < result.count(); ++i) result.set_double(i, bias.as_double(i / times));
  return result;
}

// The Conv's weight and bias, and the operators between the Conv and the movement.
struct PhaseOperands {
  ValueId weights, bias;  // no bias: invalid
  std::function<ValueId(ValueId value)> follow = [](ValueId value) { return value; };
};

class PhaseLowering {
 public:
  PhaseLowering(graph::Graph& graph, NodeId id, const ConvTransposeShape& shape, const std::vector<Phase>& phases)
      : graph_(graph), id_(id), node_(graph.node(id)), shape_(shape), phases_(phases) {
    for (const Phase& p : phases_) parts_ *= p.stride;
  }

  std::int64_t parts() const { return parts_; }

  void run(const PhaseOperands& operands) {
    ValueId value = operands.follow(conv(operands));
    if (parts_ > 1) value = side_by_side(value);
    cut(value);
  }

 private:
  ValueId add(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes = {}) {
    return insert(graph_, op, node_.name + "/phases", std::move(inputs), std::move(attributes), node_.origins);
  }
  ValueId integers(const char* stem, const std::vector<std::int64_t>& values) {
    return add_integers(graph_, fmt::format("{}/{}", node_.name, stem), values);
  }

  ValueId conv(const PhaseOperands& operands) {
    std::vector<std::int64_t> pads, ends, dilations;
    for (const Phase& p : phases_) {
      pads.push_back(p.before);
      ends.push_back(p.after);
      dilations.push_back(p.dilation);
    }
    pads.insert(pads.end(), ends.begin(), ends.end());
    std::vector<ValueId> inputs{node_.inputs[0], operands.weights};
    if (operands.bias.valid()) inputs.push_back(operands.bias);
    return add("Conv", std::move(inputs), {{"pads", pads}, {"dilations", dilations}, {"group", shape_.group}});
  }

  // [n, o * strides, positions...] as [n, o, positions * strides...].
  ValueId side_by_side(ValueId value) {
    const std::int64_t rank = static_cast<std::int64_t>(phases_.size());
    std::vector<std::int64_t> apart{shape_.batch, shape_.out_channels}, order{0, 1}, whole = apart;
    for (const Phase& p : phases_) apart.push_back(p.stride);
    for (const Phase& p : phases_) {
      apart.push_back(p.positions);
      whole.push_back(p.positions * p.stride);
    }
    for (std::int64_t d = 0; d < rank; ++d) order.insert(order.end(), {2 + rank + d, 2 + d});
    value = add("Reshape", {value, integers("apart", apart)});
    value = add("Transpose", {value}, {{"perm", order}});
    return add("Reshape", {value, integers("whole", whole)});
  }

  void cut(ValueId value) {
    std::vector<std::int64_t> starts, ends, axes;
    for (std::size_t d = 0; d < phases_.size(); ++d) {
      starts.push_back(phases_[d].skipped);
      ends.push_back(phases_[d].skipped + shape_.output[d]);
      axes.push_back(static_cast<std::int64_t>(d) + 2);
    }
    DOVETAIL_CHECK(become(graph_, id_, "Slice",
                          {value, integers("starts", starts), integers("ends", ends), integers("axes", axes)}),
                   "the parts must contain the result");
  }

  graph::Graph& graph_;
  const NodeId id_;
  const graph::Node node_;
  const ConvTransposeShape& shape_;
  const std::vector<Phase>& phases_;
  std::int64_t parts_ = 1;
};

bool lower_to_phases(graph::Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (node.op != "ConvTranspose" || !graph.is_constant(node.inputs[1])) return false;
  if (has_input(node, 2) && !graph.is_constant(node.inputs[2])) return false;
  const auto shape = ops::conv_transpose_shape({graph, node});
  if (!shape) return false;
  const auto phases = phases_of(*shape);
  if (!phases) return false;
  PhaseLowering lowering(graph, id, *shape, *phases);
  const auto given = [&](std::size_t input) -> const NdArray& { return *graph.value(node.inputs[input]).constant; };
  PhaseOperands operands;
  operands.weights = graph.add_constant(node.name + "/phase_weights", phase_weights(given(1), *shape, *phases));
  if (has_input(node, 2))
    operands.bias = graph.add_constant(node.name + "/phase_bias", repeated(given(2), lowering.parts()));
  lowering.run(operands);
  return true;
}

// The DequantizeLinear of constants that computes the value, if its scale is one number, or one per position of `axis`.
std::optional<NodeId> dequantized_constant(const graph::Graph& graph, ValueId value, std::int64_t axis) {
  const auto id = produced_by(graph, value, "DequantizeLinear");
  if (!id) return std::nullopt;
  const graph::Node& node = graph.node(*id);
  for (const ValueId input : node.inputs)
    if (input.valid() && !graph.is_constant(input)) return std::nullopt;
  const NdArray &steps = *graph.value(node.inputs[0]).constant, &scale = *graph.value(node.inputs[1]).constant;
  const auto rank = static_cast<std::int64_t>(steps.rank());
  std::int64_t own = graph::int_attribute(node, "axis", 1);
  if (own < 0) own += rank;
  const bool one = scale.count() == 1;
  if (graph::int_attribute(node, "block_size", 0) != 0 || (!one && rank > 1 && own != axis)) return std::nullopt;
  if (has_input(node, 2) && graph.value(node.inputs[2]).constant->count() != scale.count()) return std::nullopt;
  return id;
}

// Adds the same DequantizeLinear for other steps, with scales and zero points repeated along axis 0.
ValueId dequantized_as(graph::Graph& graph, NodeId dequantize, NdArray steps, std::int64_t times) {
  const graph::Node node = graph.node(dequantize);
  std::vector<ValueId> inputs{graph.add_constant(node.name + "/phases", std::move(steps))};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const bool several = has_input(node, i) && graph.value(node.inputs[i]).constant->count() > 1;
    inputs.push_back(
        several ? graph.add_constant(node.name + "/phases", repeated(*graph.value(node.inputs[i]).constant, times))
                : node.inputs[i]);
  }
  graph::Attributes attributes = node.attributes;
  attributes["axis"] = std::int64_t{0};
  return insert(graph, "DequantizeLinear", node.name + "/phases", std::move(inputs), std::move(attributes),
                node.origins);
}

// The only reader of a node's result, if it is one of these operators.
std::optional<NodeId> reader(const graph::Graph& graph, NodeId id, std::initializer_list<std::string_view> operators) {
  const ValueId value = graph.node(id).outputs[0];
  if (!used_once(graph, value)) return std::nullopt;
  const NodeId user = graph.users(value).front();
  const graph::Node& node = graph.node(user);
  if (node.inputs[0] != value || std::ranges::find(operators, node.op) == operators.end()) return std::nullopt;
  return user;
}

}  // namespace

bool lower_quantized_conv_transpose(graph::Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (node.op != "ConvTranspose") return false;
  const auto weights = dequantized_constant(graph, node.inputs[1], 1);
  if (!weights) return false;
  const NdArray steps = *graph.value(graph.node(*weights).inputs[0]).constant;
  const bool scale_of_outputs = graph.value(graph.node(*weights).inputs[1]).constant->count() > 1;
  const bool has_bias = has_input(node, 2), constant_bias = has_bias && graph.is_constant(node.inputs[2]);
  const auto bias = has_bias ? dequantized_constant(graph, node.inputs[2], 0) : std::nullopt;
  if (has_bias && !constant_bias && !bias) return false;
  const auto shape = ops::conv_transpose_shape({graph, node});
  if (!shape || (scale_of_outputs && shape->group > 1)) return false;
  const auto phases = phases_of(*shape);
  const auto activation = reader(graph, id, {"Relu", "Clip"});
  const auto quantize = reader(graph, activation.value_or(id), {"QuantizeLinear"});
  if (!phases || !quantize) return false;
  const graph::Node to_steps = graph.node(*quantize);
  for (std::size_t i = 1; i < to_steps.inputs.size(); ++i)
    if (!graph.is_constant(to_steps.inputs[i]) || graph.value(to_steps.inputs[i]).constant->count() != 1) return false;

  PhaseLowering lowering(graph, id, *shape, *phases);
  double missing = 0;
  if (has_input(graph.node(*weights), 2)) {
    const NdArray& zero = *graph.value(graph.node(*weights).inputs[2]).constant;
    for (std::int64_t i = 0; i < zero.count(); ++i)
      if (zero.as_int64(i) != zero.as_int64(0)) return false;
    missing = zero.as_double(0);
  }
  PhaseOperands operands;
  operands.weights = dequantized_as(graph, *weights, phase_weights(steps, *shape, *phases, missing), lowering.parts());
  if (constant_bias)
    operands.bias = graph.add_constant(node.name + "/phase_bias",
                                       repeated(*graph.value(node.inputs[2]).constant, lowering.parts()));
  else if (bias)
    operands.bias = dequantized_as(
        graph, *bias, repeated(*graph.value(graph.node(*bias).inputs[0]).constant, lowering.parts()), lowering.parts());
  operands.follow = [&](ValueId value) {
    const std::string stem = node.name + "/phases";
    if (activation) {
      const graph::Node bounds = graph.node(*activation);
      std::vector<ValueId> inputs = bounds.inputs;
      inputs[0] = value;
      value = insert(graph, bounds.op, stem, std::move(inputs), bounds.attributes, bounds.origins);
    }
    std::vector<ValueId> inputs = to_steps.inputs;
    inputs[0] = value;
    inputs[0] = insert(graph, "QuantizeLinear", stem, inputs, to_steps.attributes, to_steps.origins);
    return insert(graph, "DequantizeLinear", stem, inputs, {}, to_steps.origins);
  };
  lowering.run(operands);
  if (activation) DOVETAIL_CHECK(bypass(graph, *activation, node.outputs[0]), "a QuantizeLinear reads it");
  return true;
}

Result<PassOutcome> lower_conv_transpose(graph::Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order())
    if (lower_to_phases(graph, id)) ++outcome.changes;
  return outcome;
}

}  // namespace dovetail::passes

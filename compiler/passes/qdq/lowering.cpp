#include "compiler/passes/qdq/lowering.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/op.h"

namespace dovetail::passes::qdq {
namespace {

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

// The steps of a byte tensor as int8: uint8 less 128.
NdArray as_int8(const NdArray& steps) {
  if (steps.dtype() == DType::int8) return steps;
  NdArray centered(DType::int8, steps.shape());
  for (std::int64_t i = 0; i < steps.count(); ++i) centered.set_int64(i, steps.as_int64(i) - 128);
  return centered;
}

std::string first_reason(const Diagnostics& diagnostics) { return diagnostics.front().why; }

void add_origins(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& origin : from)
    if (std::find(to.begin(), to.end(), origin) == to.end()) to.push_back(origin);
}

NdArray as_wide(const NdArray& array) {
  if (!is_floating(array.dtype())) return array;
  NdArray wide(DType::float64, array.shape());
  for (std::int64_t i = 0; i < array.count(); ++i) wide.set_double(i, array.as_double(i));
  return wide;
}

// (q - z) * s of constants, with one scale or one per position of an axis.
std::optional<NdArray> dequantized_constant(const Graph& graph, const Node& node) {
  for (ValueId input : node.inputs)
    if (input.valid() && !graph.is_constant(input)) return std::nullopt;
  if (graph::int_attribute(node, "block_size", 0) != 0) return std::nullopt;
  const NdArray &steps = *graph.value(node.inputs[0]).constant, &scale = *graph.value(node.inputs[1]).constant;
  const NdArray* zero =
      node.inputs.size() > 2 && node.inputs[2].valid() ? &*graph.value(node.inputs[2]).constant : nullptr;
  std::int64_t inner = 1, extent = 1;
  if (scale.count() != 1) {
    std::int64_t axis = graph::int_attribute(node, "axis", 1);
    if (axis < 0) axis += static_cast<std::int64_t>(steps.rank());
    extent = scale.count();
    for (auto i = static_cast<std::size_t>(axis) + 1; i < steps.shape().size(); ++i) inner *= steps.shape()[i];
  }
  NdArray wide(DType::float64, steps.shape());
  for (std::int64_t i = 0; i < steps.count(); ++i) {
    const std::int64_t c = i / inner % extent;
    wide.set_double(i,
                    static_cast<double>(steps.as_int64(i) - (zero ? zero->as_int64(zero->count() == 1 ? 0 : c) : 0)) *
                        scale.as_double(scale.count() == 1 ? 0 : c));
  }
  return wide;
}

}  // namespace

std::optional<NdArray> constant_reals(const Graph& graph, ValueId value) {
  if (graph.is_constant(value)) return as_wide(*graph.value(value).constant);
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).op != "DequantizeLinear") return std::nullopt;
  return dequantized_constant(graph, graph.node(producer));
}

bool Weight::has_zero_points() const {
  return std::any_of(zero_points.begin(), zero_points.end(), [](int zero_point) { return zero_point != 0; });
}

void set_output(Node& node, const Quantization& q, Range range) {
  node.attributes["y_zero_point"] = std::int64_t{q.zero_point};
  node.attributes["y_min"] = std::int64_t{range.min};
  node.attributes["y_max"] = std::int64_t{range.max};
}

std::optional<Quantization> Lowering::parameters(const Node& node) const {
  const bool quantizes = node.op == "QuantizeLinear";
  if (!quantizes && node.op != "DequantizeLinear") return std::nullopt;
  const DType dtype = graph.value(quantizes ? node.outputs[0] : node.inputs[0]).type.dtype;
  if (!is_byte(dtype) || graph.value(quantizes ? node.inputs[0] : node.outputs[0]).type.dtype != DType::float32)
    return std::nullopt;
  const auto& scale = graph.value(node.inputs[1]).constant;
  if (!scale || scale->count() != 1) return std::nullopt;
  std::int64_t zero_point = 0;
  if (node.inputs.size() > 2 && node.inputs[2].valid()) {
    const auto& constant = graph.value(node.inputs[2]).constant;
    if (!constant || constant->count() != 1) return std::nullopt;
    zero_point = constant->as_int64(0);
  }
  const auto number = static_cast<float>(scale->as_double(0));
  if (!std::isnormal(number) || number < 0) return std::nullopt;
  return Quantization{number, static_cast<int>(zero_point) - (dtype == DType::uint8 ? 128 : 0)};
}

Refusal Lowering::why_no_parameters(const Node& node) const {
  const bool quantizes = node.op == "QuantizeLinear";
  const DType dtype = graph.value(quantizes ? node.outputs[0] : node.inputs[0]).type.dtype;
  const DType real = graph.value(quantizes ? node.inputs[0] : node.outputs[0]).type.dtype;
  if (!is_byte(dtype))
    return fmt::format("the quantized values are {}, but integer forms exist only for int8 and uint8", name(dtype));
  if (real != DType::float32)
    return fmt::format("the real values are {}, but integer forms exist only for float32", name(real));
  const auto& scale = graph.value(node.inputs[1]).constant;
  if (!scale) return "the scale is not a constant";
  if (scale->count() != 1) return fmt::format("there are {} scales, but activations must have one", scale->count());
  if (!std::isnormal(static_cast<float>(scale->as_double(0))) || scale->as_double(0) < 0)
    return fmt::format("the scale {} is not a positive normal number", scale->as_double(0));
  return "the zero point is not a single constant";
}

std::optional<Operand> Lowering::dequantized(ValueId value) {
  if (!value.valid() || !graph.value(value).producer.valid()) return std::nullopt;
  const Node& node = graph.node(graph.value(value).producer);
  if (node.op != "DequantizeLinear") return std::nullopt;
  const std::optional<Quantization> q = parameters(node);
  if (!q) return std::nullopt;
  const ValueId steps = node.inputs[0];
  if (graph.value(steps).type.dtype == DType::int8) return Operand{steps, *q};
  if (!graph.is_constant(steps)) return std::nullopt;  // recenter_activations() has replaced all other uint8 values
  return Operand{int8_constant(graph.value(steps).name + "/int8", as_int8(*graph.value(steps).constant)), *q};
}

Refusal Lowering::read_weight(ValueId value, std::int64_t axis, Weight& weight) const {
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).op != "DequantizeLinear")
    return fmt::format("weight %{} is not quantized: no DequantizeLinear of a constant", graph.value(value).name);
  const Node& node = graph.node(producer);
  for (ValueId input : node.inputs)
    if (input.valid() && !graph.is_constant(input))
      return fmt::format("weight %{} is not a constant", graph.value(value).name);
  const NdArray& steps = *graph.value(node.inputs[0]).constant;
  if (!is_byte(steps.dtype()))
    return fmt::format("weight %{} is {}, not int8 or uint8", graph.value(value).name, name(steps.dtype()));
  if (graph::int_attribute(node, "block_size", 0) != 0)
    return fmt::format("weight %{} is quantized in blocks", graph.value(value).name);

  const auto rank = static_cast<std::int64_t>(steps.rank());
  const NdArray& scale = *graph.value(node.inputs[1]).constant;
  std::int64_t scale_axis = graph::int_attribute(node, "axis", 1);
  if (scale_axis < 0) scale_axis += rank;
  const std::int64_t channels = steps.shape()[static_cast<std::size_t>(axis)];
  if (scale.count() != 1 && (scale_axis != axis || scale.count() != channels))
    return fmt::format("weight %{} has {} scales on axis {}, but must have one, or {} on axis {}",
                       graph.value(value).name, scale.count(), scale_axis, channels, axis);
  const NdArray* zero =
      node.inputs.size() > 2 && node.inputs[2].valid() ? &*graph.value(node.inputs[2]).constant : nullptr;
  weight.steps = as_int8(steps);
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t at = scale.count() == 1 ? 0 : c;
    const auto number = static_cast<float>(scale.as_double(at));
    if (!std::isnormal(number) || number < 0)
      return fmt::format("scale {} of weight %{} is not a positive normal number", number, graph.value(value).name);
    weight.scales.push_back(number);
    weight.zero_points.push_back(static_cast<int>(zero ? zero->as_int64(zero->count() == 1 ? 0 : c) : 0) -
                                 (steps.dtype() == DType::uint8 ? 128 : 0));
  }
  return "";
}

Refusal Lowering::place(Node node, NodeId op, const Target& target) {
  const ValueId scratch = graph.add_value(graph.value(target.output).name + "/int8", {DType::int8, {}});
  node.name = graph.unique_node_name(graph.node(op).name);
  node.outputs = {scratch};
  node.origins = graph.node(op).origins;
  for (auto float_node = target.float_nodes.rbegin(); float_node != target.float_nodes.rend(); ++float_node)
    add_origins(node.origins, graph.node(*float_node).origins);
  add_origins(node.origins, graph.node(target.quantize).origins);
  const NodeId placed = graph.add_node(std::move(node));
  Refusal refusal;
  if (auto inferred = ops::infer(graph, placed); !inferred) refusal = first_reason(inferred.errors());
  else if (graph.value(scratch).type != graph.value(target.output).type)
    refusal = fmt::format("the integer form has type {}, expected {}", to_string(graph.value(scratch).type),
                          to_string(graph.value(target.output).type));
  if (!refusal.empty()) {
    graph.remove_node(placed);
    return refusal;
  }
  graph.remove_node(target.quantize);
  graph.value(scratch).producer = {};
  graph.edit(placed)->outputs = {target.output};
  graph.value(target.output).producer = placed;

  const std::string op_name = graph.node(op).name;
  std::vector<NodeId> chain = target.float_nodes;  // result first, so that each node has no users when it is removed
  chain.push_back(op);
  for (NodeId dead : chain) {
    if (graph.node(dead).removed) continue;  // the QuantizeLinear itself, where the node represents it alone
    const std::vector<ValueId>& outputs = graph.node(dead).outputs;
    const bool used = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return graph.is_output(output) || !graph.users(output).empty();
    });
    if (used) {
      kept_float.insert(graph.node(dead).name);
      break;
    }
    graph.remove_node(dead);
  }
  if (graph.node(op).removed) graph.edit(placed)->name = op_name;
  ++outcome.changes;
  return "";
}

std::optional<ValueId> Lowering::add(Node node, NodeId op, std::string_view stem, Refusal& refusal) {
  const ValueId output = graph.add_value(stem, {DType::int8, {}});
  node.name = graph.unique_node_name(stem);
  node.outputs = {output};
  node.origins = graph.node(op).origins;
  const NodeId added = graph.add_node(std::move(node));
  if (auto inferred = ops::infer(graph, added); !inferred) {
    graph.remove_node(added);
    refusal = first_reason(inferred.errors());
    return std::nullopt;
  }
  fresh.insert(output);
  return output;
}

void Lowering::dequantize_to(ValueId output, const Operand& operand, NodeId op) {
  Node node;
  node.name = graph.unique_node_name(graph.node(op).name + "/dequantize");
  node.op = "DequantizeLinear";
  node.origins = graph.node(op).origins;
  const std::string stem = graph.value(output).name;
  const ValueId scale = graph.add_constant(stem + "/scale", NdArray::scalar(operand.q.scale));
  const ValueId zero_point =
      graph.add_constant(stem + "/zero_point", NdArray::scalar(static_cast<std::int8_t>(operand.q.zero_point)));
  node.inputs = {operand.value, scale, zero_point};
  node.outputs = {output};
  graph.add_node(std::move(node));
}

Node Lowering::rescale(const Operand& x, const Quantization& q, Range range, std::string_view stem, Refusal& refusal) {
  Node node;
  const auto numbers = rescaling(x.q.scale, q.scale);
  if (!numbers) {
    refusal = fmt::format("scales {} and {} are too far apart", x.q.scale, q.scale);
    return node;
  }
  node.op = "dovetail.qadd";
  node.inputs = {x.value, int8_constant(fmt::format("{}/zero", stem), NdArray::scalar(std::int8_t{0}))};
  node.attributes["a_zero_point"] = std::int64_t{x.q.zero_point};
  node.attributes["b_zero_point"] = std::int64_t{0};
  node.attributes["a_multiplier"] = numbers->a_multiplier;
  node.attributes["b_multiplier"] = numbers->b_multiplier;
  node.attributes["scale"] = numbers->scale;
  set_output(node, q, range);
  return node;
}

}  // namespace dovetail::passes::qdq

// Functions of one int8 tensor, written with any float operators, are evaluated in binary64 for all 256 steps at
// compile time.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

constexpr std::int64_t kSteps = 256;
constexpr std::int64_t kMostTableBytes = std::int64_t{1} << 20;

// Operators of which each element depends only on the same element of their operands.
constexpr std::array kPointwise = {"Abs",         "Acos",      "Acosh",      "Add",       "And",
                                   "Asin",        "Asinh",     "Atan",       "Atanh",     "BatchNormalization",
                                   "Ceil",        "Celu",      "Clip",       "Cos",       "Cosh",
                                   "Div",         "Dropout",   "Elu",        "Equal",     "Erf",
                                   "Exp",         "Floor",     "Gelu",       "Greater",   "GreaterOrEqual",
                                   "HardSigmoid", "HardSwish", "Identity",   "LeakyRelu", "Less",
                                   "LessOrEqual", "Log",       "Max",        "Mean",      "Min",
                                   "Mish",        "Mul",       "Neg",        "Not",       "Or",
                                   "PRelu",       "Pow",       "Reciprocal", "Relu",      "Round",
                                   "Selu",        "Shrink",    "Sigmoid",    "Sign",      "Sin",
                                   "Sinh",        "Softplus",  "Softsign",   "Sqrt",      "Sub",
                                   "Sum",         "Swish",     "Tan",        "Tanh",      "ThresholdedRelu",
                                   "Where",       "Xor"};
// The nodes and constants from which a float value is computed, back to the DequantizeLinear nodes.
struct Cone {
  ValueId steps;                          // the only int8 tensor
  std::map<ValueId, Quantization> reads;  // the dequantized values of the tensor
  std::map<ValueId, NdArray> constants;   // floats as binary64
  std::set<NodeId> nodes;
};

Refusal collect(Lowering& lowering, ValueId value, Cone& cone) {
  Graph& graph = lowering.graph;
  if (cone.reads.count(value) || cone.constants.count(value)) return "";
  const std::string name = graph.value(value).name;
  if (auto constant = constant_reals(graph, value)) {
    cone.constants.emplace(value, *std::move(constant));
    return "";
  }
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid()) return fmt::format("the node reads %{}, which is not quantized", name);
  const Node node = graph.node(producer);
  if (node.op == "DequantizeLinear") {
    const auto operand = lowering.dequantized(value);
    if (!operand)
      return fmt::format("%{} is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale", name);
    if (cone.steps.valid() && cone.steps != operand->value)
      return fmt::format("the result is a function of two tensors, %{} and %{}", graph.value(cone.steps).name,
                         graph.value(operand->value).name);
    cone.steps = operand->value;
    cone.reads.emplace(value, operand->q);
    return "";
  }
  if (!is_pointwise(node.op) || node.outputs.size() != 1)
    return fmt::format("the node reads %{}, the result of {}, which is not quantized", name, node.op);
  if (!cone.nodes.insert(producer).second) return "";
  for (ValueId input : node.inputs)
    if (input.valid())
      if (Refusal refusal = collect(lowering, input, cone); !refusal.empty()) return refusal;
  return "";
}

// The only axis of the result along which constants vary; -1: none.
Refusal varying_axis(const Graph& graph, const Cone& cone, const Shape& shape, std::int64_t& axis) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  axis = -1;
  for (const NodeId id : cone.nodes) {
    const Node& node = graph.node(id);
    for (ValueId input : node.inputs) {
      const auto constant = cone.constants.find(input);
      if (constant == cone.constants.end() || constant->second.count() == 1) continue;
      const Shape& own = constant->second.shape();
      const bool per_channel = node.op == "BatchNormalization";  // [C] belongs to axis 1, not to the last axis
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (own[i] == 1) continue;
        const std::int64_t along = per_channel ? 1 : rank - static_cast<std::int64_t>(own.size() - i);
        if (along < 0 || (axis >= 0 && axis != along))
          return fmt::format("%{} of shape {} varies along more than one axis", graph.value(input).name,
                             to_string(own));
        axis = along;
      }
    }
  }
  return "";
}

// The real results for all steps, from -128 to 127: [256] or, with an axis of extent C, [256, C].
Result<NdArray> evaluate_cone(const Graph& graph, const Cone& cone, ValueId result, const Shape& shape,
                              std::int64_t axis) {
  // Steps are on the first axis if constants do not vary along it; else on an additional first axis, which
  // right-aligned broadcasting keeps separate.
  Shape space(std::max<std::size_t>(shape.size(), 1), 1);
  if (axis == 0) space.insert(space.begin(), 1);
  if (axis >= 0) space[static_cast<std::size_t>(axis == 0 ? 1 : axis)] = shape[static_cast<std::size_t>(axis)];
  space[0] = kSteps;
  const std::int64_t per_step = element_count(space) / kSteps;

  Graph wide;
  std::map<ValueId, ValueId> twins;
  for (const auto& [value, q] : cone.reads) {
    NdArray reals(DType::float64, space);
    for (std::int64_t i = 0; i < reals.count(); ++i)
      reals.set_double(i, static_cast<double>(i / per_step - 128 - q.zero_point) * static_cast<double>(q.scale));
    twins[value] = wide.add_constant(graph.value(value).name, std::move(reals));
  }
  for (const auto& [value, constant] : cone.constants)
    twins[value] = wide.add_constant(graph.value(value).name, constant);
  for (const NodeId id : graph.topological_order()) {
    if (!cone.nodes.count(id)) continue;
    Node node = graph.node(id);
    for (ValueId& input : node.inputs)
      if (input.valid()) input = twins.at(input);
    const ValueId output = wide.add_value(graph.value(node.outputs[0]).name, {});
    twins[node.outputs[0]] = output;
    node.outputs = {output};
    const NodeId twin = wide.add_node(std::move(node));
    DOVETAIL_TRY(ops::infer(wide, twin));
    // Always uses the interpreter: tables must not depend on the evaluator of constants.
    DOVETAIL_ASSIGN(std::vector<NdArray> values, evaluate_node(wide, twin, interpreter_evaluate()));
    replace_by_constants(wide, twin, std::move(values));
  }
  return *wide.value(twins.at(result)).constant;
}

// round_half_even(real / s) + z in binary64, saturated; NaN becomes the zero point, as in
// QuantizeLinear.
std::int8_t quantize_wide(double real, const Quantization& q, Range range) {
  const double steps = std::isnan(real) ? 0.0 : std::nearbyint(real / static_cast<double>(q.scale));
  return static_cast<std::int8_t>(
      std::clamp(steps + q.zero_point, static_cast<double>(range.min), static_cast<double>(range.max)));
}

}  // namespace

bool is_pointwise(std::string_view op) {
  return std::find(kPointwise.begin(), kPointwise.end(), op) != kPointwise.end();
}

Refusal lower_to_table(Lowering& lowering, const Target& target) {
  Graph& graph = lowering.graph;
  const ValueId result = graph.node(target.quantize).inputs[0];
  Cone cone;
  if (Refusal refusal = collect(lowering, result, cone); !refusal.empty()) return refusal;
  if (!cone.steps.valid() || cone.nodes.empty()) return "the node reads no quantized tensor";
  const Shape shape = graph.value(result).type.shape;
  if (graph.value(cone.steps).type.shape != shape)
    return fmt::format("the result has shape {}, but the quantized tensor %{} has {}", to_string(shape),
                       graph.value(cone.steps).name, to_string(graph.value(cone.steps).type.shape));
  std::int64_t axis = -1;
  if (Refusal refusal = varying_axis(graph, cone, shape, axis); !refusal.empty()) return refusal;
  const std::int64_t slices = axis < 0 ? 1 : shape[static_cast<std::size_t>(axis)];
  if (slices * kSteps > kMostTableBytes)
    return fmt::format("the tables, one for each of {} slices, need {} bytes, more than {}", slices, slices * kSteps,
                       kMostTableBytes);
  const auto reals = evaluate_cone(graph, cone, result, shape, axis);
  if (!reals) return reals.errors().front().why;

  NdArray table(DType::int8, axis < 0 ? Shape{kSteps} : Shape{slices, kSteps});
  for (std::int64_t c = 0; c < slices; ++c)
    for (std::int64_t step = 0; step < kSteps; ++step)
      table.set_int64(
          c * kSteps + step,
          quantize_wide(reals->as_double(reals->count() == kSteps ? step : step * slices + c), target.q, {}));

  // The table is named after the first operator; the others follow it.
  Target inner = target;
  inner.float_nodes.clear();
  for (const NodeId id : graph.topological_order())
    if (cone.nodes.count(id)) inner.float_nodes.insert(inner.float_nodes.begin(), id);
  const NodeId first = inner.float_nodes.back();
  inner.float_nodes.pop_back();
  Node node;
  node.op = "dovetail.qtable";
  node.inputs = {cone.steps, lowering.int8_constant(graph.node(first).name + "/table", std::move(table))};
  if (axis >= 0) node.attributes["axis"] = axis;
  return lowering.place(std::move(node), first, inner);
}

namespace {

// The table of a one-table node; null for any other.
const NdArray* table_of(const Graph& graph, const Node& node) {
  if (node.op != "dovetail.qtable" || node.attributes.count("axis") || !graph.is_constant(node.inputs[1]))
    return nullptr;
  return &*graph.value(node.inputs[1]).constant;
}

// Whether each element of the node's result depends only on the same element of its int8 operands.
bool is_integer_pointwise(std::string_view op) {
  return op == "dovetail.qtable" || op == "dovetail.qadd" || op == "dovetail.qmul" || op == "dovetail.qclip";
}

// Replaces `id` by one table of the tensor that the tables before it read: f(t(x)), or f(x, t(x)). False if `id` is not
// such a function.
bool compose(Lowering& lowering, NodeId id) {
  Graph& graph = lowering.graph;
  const Node node = graph.node(id);
  if (!is_integer_pointwise(node.op) || (node.op == "dovetail.qtable" && node.attributes.count("axis"))) return false;
  const auto producer_of = [&](ValueId value) { return graph.value(value).producer; };
  const auto is_absorbed = [&](ValueId value) {  // a table without other readers
    const NodeId producer = producer_of(value);
    return producer.valid() && table_of(graph, graph.node(producer)) && !graph.is_output(value) &&
           graph.users(value).size() == 1;
  };
  const std::size_t data_inputs = node.op == "dovetail.qtable" ? 1 : node.inputs.size();
  ValueId source;
  std::vector<NodeId> absorbed;
  for (std::size_t i = 0; i < data_inputs; ++i) {
    const ValueId input = node.inputs[i];
    if (graph.is_constant(input)) {
      if (graph.value(input).constant->count() != 1) return false;
      continue;
    }
    const ValueId from = is_absorbed(input) ? graph.node(producer_of(input)).inputs[0] : input;
    if (source.valid() && source != from) return false;
    source = from;
    if (from != input && std::find(absorbed.begin(), absorbed.end(), producer_of(input)) == absorbed.end())
      absorbed.push_back(producer_of(input));
  }
  if (absorbed.empty() || graph.value(source).type.shape != graph.value(node.outputs[0]).type.shape) return false;

  Graph steps;
  Node twin = node;
  NdArray identity(DType::int8, {kSteps});
  for (std::int64_t i = 0; i < kSteps; ++i) identity.set_int64(i, i - 128);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (graph.is_constant(input)) {
      const NdArray& constant = *graph.value(input).constant;
      twin.inputs[i] = steps.add_constant("constant", i < data_inputs ? constant.reshaped({}) : constant);
    } else {
      twin.inputs[i] =
          steps.add_constant("x", input == source ? identity : *table_of(graph, graph.node(producer_of(input))));
    }
  }
  twin.outputs = {steps.add_value("y", {})};
  const NodeId evaluated = steps.add_node(std::move(twin));
  if (!ops::infer(steps, evaluated)) return false;
  auto values = evaluate_node(steps, evaluated, interpreter_evaluate());
  if (!values) return false;

  std::vector<std::string> origins;
  const auto add_origins = [&](const std::vector<std::string>& more) {
    for (const std::string& origin : more)
      if (std::find(origins.begin(), origins.end(), origin) == origins.end()) origins.push_back(origin);
  };
  for (const NodeId table : absorbed) add_origins(graph.node(table).origins);
  add_origins(node.origins);
  const ValueId table = lowering.int8_constant(node.name + "/table", std::move((*values)[0]));
  {
    const graph::NodeEdit result = graph.edit(id);
    result->op = "dovetail.qtable";
    result->attributes.clear();
    result->origins = std::move(origins);
    result->inputs = {source, table};
  }
  for (const NodeId dead : absorbed) graph.remove_node(dead);
  ++lowering.outcome.changes;
  return true;
}

}  // namespace

void compose_tables(Lowering& lowering) {
  // In topological order, so that a chain becomes one table step by step.
  for (const NodeId id : lowering.graph.topological_order())
    if (!lowering.graph.node(id).removed) compose(lowering, id);
}

}  // namespace dovetail::passes::qdq

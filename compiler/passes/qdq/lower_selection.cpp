// Operators that choose among tensors with different scales: Concat, Max, Min, TensorScatter, Where, and Pad with a
// value.
// QuantizeLinear is monotone, so that choosing and then quantizing equals quantizing and then choosing: each operand is
// converted to the output's scale, and the operator itself moves int8 values. (move_values handles operands with the
// same scale, with or without a QuantizeLinear after them.)
#include <cmath>

#include <fmt/format.h>

#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

int clamped(int step, Range range) { return std::min(std::max(step, range.min), range.max); }

// `value` quantized with the target's scale, clamped to its range. Names of new nodes begin with `stem`.
std::optional<ValueId> in_steps_of(Lowering& lowering, NodeId op, ValueId value, const Target& target,
                                   const std::string& stem, Refusal& refusal) {
  Graph& graph = lowering.graph;
  if (const auto& constant = graph.value(value).constant; constant && constant->dtype() == DType::float32) {
    NdArray steps(DType::int8, constant->shape());
    for (std::int64_t i = 0; i < constant->count(); ++i) {
      const auto real = static_cast<float>(constant->as_double(i));
      if (std::isnan(real)) {
        refusal = fmt::format("%{} contains a NaN", graph.value(value).name);
        return std::nullopt;
      }
      steps.set_int64(i, clamped(quantize(real, target.q), target.range));
    }
    return lowering.int8_constant(stem, std::move(steps));
  }
  const auto operand = lowering.dequantized(value);
  if (!operand) {
    refusal = fmt::format("%{} is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale",
                          graph.value(value).name);
    return std::nullopt;
  }
  if (operand->q == target.q && target.range.is_full()) return operand->value;
  Node scaled = lowering.rescale(*operand, target.q, target.range, stem, refusal);
  if (!refusal.empty()) return std::nullopt;
  return lowering.add(std::move(scaled), op, stem, refusal);
}

// The operands from `begin` to `end` are data.
Refusal select(Lowering& lowering, NodeId op, const Target& target, std::size_t begin, std::size_t end) {
  const Node original = lowering.graph.node(op);
  for (std::size_t i = begin; i < end; ++i) {  // checked before any node is added
    const ValueId input = original.inputs[i];
    if (!lowering.graph.is_constant(input) && !lowering.dequantized(input))
      return fmt::format("%{} is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale",
                         lowering.graph.value(input).name);
  }
  Node node;
  node.op = original.op;
  node.attributes = original.attributes;
  node.inputs = original.inputs;
  Refusal refusal;
  for (std::size_t i = begin; i < end; ++i) {
    const auto steps =
        in_steps_of(lowering, op, original.inputs[i], target, fmt::format("{}/input_{}", original.name, i), refusal);
    if (!steps) return refusal;
    node.inputs[i] = *steps;
  }
  return lowering.place(std::move(node), op, target);
}

}  // namespace

Refusal lower_selection(Lowering& lowering, NodeId op, const Target& target) {
  const Node& node = lowering.graph.node(op);
  return select(lowering, op, target, node.op == "Where" ? 1 : 0, node.op == "TensorScatter" ? 2 : node.inputs.size());
}

Refusal lower_padding(Lowering& lowering, NodeId op, const Target& target) {
  Graph& graph = lowering.graph;
  const Node pad = graph.node(op);
  if (!lowering.dequantized(pad.inputs[0]))
    return "the input is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale";
  const bool has_value = pad.inputs.size() > 2 && pad.inputs[2].valid();
  if (has_value && !graph.is_constant(pad.inputs[2])) return "the padding value is not a constant";
  Node node = pad;
  node.outputs.clear();
  node.origins.clear();
  Refusal refusal;
  const auto x = in_steps_of(lowering, op, pad.inputs[0], target, pad.name + "/input", refusal);
  if (!x) return refusal;
  const float value = has_value ? static_cast<float>(graph.value(pad.inputs[2]).constant->as_double(0)) : 0.0f;
  if (std::isnan(value)) return "the padding value is NaN";
  node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3));
  node.inputs[0] = *x;
  node.inputs[2] = lowering.int8_constant(
      pad.name + "/value", NdArray::scalar(static_cast<std::int8_t>(clamped(quantize(value, target.q), target.range))));
  return lowering.place(std::move(node), op, target);
}

}  // namespace dovetail::passes::qdq

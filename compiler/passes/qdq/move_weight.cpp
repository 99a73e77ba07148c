// Exporters transpose and reshape quantized weights in the graph: Transpose(DequantizeLinear(w)) becomes
// DequantizeLinear(Transpose(w)), with the scales along another axis.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

// The axis of `to` that corresponds to `axis` of `from` after a reshape; nullopt if there is none.
std::optional<std::int64_t> axis_after_reshape(const Shape& from, const Shape& to, std::size_t axis) {
  std::int64_t before = 1;
  for (std::size_t i = 0; i < axis; ++i) before *= from[i];
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (outer == before && to[i] == from[axis]) return static_cast<std::int64_t>(i);
    outer *= to[i];
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> move_weight(Lowering& lowering, NodeId op) {
  Graph& graph = lowering.graph;
  const Node move = graph.node(op);
  constexpr std::string_view kReshapes[] = {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  const bool reshapes = std::find(std::begin(kReshapes), std::end(kReshapes), move.op) != std::end(kReshapes);
  if (!reshapes && move.op != "Transpose") return std::nullopt;
  const NodeId producer = graph.value(move.inputs[0]).producer;
  if (!producer.valid() || graph.node(producer).op != "DequantizeLinear") return std::nullopt;
  const Node dequantize = graph.node(producer);
  for (ValueId input : dequantize.inputs)
    if (input.valid() && !graph.is_constant(input)) return std::nullopt;
  const NdArray &steps = *graph.value(dequantize.inputs[0]).constant,
                &scale = *graph.value(dequantize.inputs[1]).constant;
  if (scale.count() == 1 || graph::int_attribute(dequantize, "block_size", 0) != 0) return std::nullopt;

  const auto rank = static_cast<std::int64_t>(steps.rank());
  std::int64_t axis = graph::int_attribute(dequantize, "axis", 1);
  if (axis < 0) axis += rank;
  std::optional<std::int64_t> after;
  if (reshapes) {
    after = axis_after_reshape(steps.shape(), graph.value(move.outputs[0]).type.shape, static_cast<std::size_t>(axis));
  } else {
    std::vector<std::int64_t> reversed;
    for (std::int64_t i = rank; i-- > 0;) reversed.push_back(i);
    const std::vector<std::int64_t> permutation = graph::ints_attribute(move, "perm", reversed);
    after = std::find(permutation.begin(), permutation.end(), axis) - permutation.begin();
  }
  if (!after)
    return fmt::format("the input has {} scales along axis {}, which the result of shape {} does not preserve",
                       scale.count(), axis, to_string(graph.value(move.outputs[0]).type.shape));

  // The same operator on the steps.
  Node moved = move;
  moved.name = graph.unique_node_name(move.name + "/steps");
  moved.inputs[0] = dequantize.inputs[0];
  const ValueId constant = graph.add_value(move.name + "/steps", {});
  moved.outputs = {constant};
  const NodeId evaluated = graph.add_node(std::move(moved));
  if (auto inferred = ops::infer(graph, evaluated); !inferred) {
    graph.remove_node(evaluated);
    return inferred.errors().front().why;
  }
  auto values = evaluate_node(graph, evaluated, lowering.context.evaluate);
  if (!values) {
    graph.remove_node(evaluated);
    return values.errors().front().why;
  }
  replace_by_constants(graph, evaluated, *std::move(values));
  Node scaled = dequantize;
  scaled.name = move.name;
  scaled.inputs[0] = constant;
  scaled.outputs = move.outputs;
  scaled.origins = move.origins;
  scaled.attributes["axis"] = *after;
  graph.remove_node(op);
  graph.add_node(std::move(scaled));
  ++lowering.outcome.changes;
  return "";
}

}  // namespace dovetail::passes::qdq

// Operators that commute with DequantizeLinear: those that only move values, and Relu and Clip at bounds that are
// steps.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

// Operators whose output elements are elements of a data input, selected by position or by order (which scaling does
// not change).
struct Mover {
  std::string_view op;
  std::size_t data;  // how many of the first inputs are data
};
constexpr std::size_t kAll = 1000;  // every input is data
constexpr Mover kMovers[] = {
    {"Concat", kAll},      {"DepthToSpace", 1},  {"Expand", 1},        {"Flatten", 1},      {"Gather", 1},
    {"GatherElements", 1}, {"GatherND", 1},      {"GlobalMaxPool", 1}, {"Identity", 1},     {"Max", kAll},
    {"MaxPool", 1},        {"Min", kAll},        {"Pad", 1},           {"ReduceMax", 1},    {"ReduceMin", 1},
    {"Reshape", 1},        {"Resize", 1},        {"Slice", 1},         {"SpaceToDepth", 1}, {"Split", 1},
    {"Squeeze", 1},        {"TensorScatter", 2}, {"Tile", 1},          {"Transpose", 1},    {"Unsqueeze", 1},
};

const Mover* find_mover(std::string_view op) {
  const auto found =
      std::find_if(std::begin(kMovers), std::end(kMovers), [&](const Mover& mover) { return mover.op == op; });
  return found == std::end(kMovers) ? nullptr : found;
}

// Why this node cannot move int8 values instead of floats; adapts `node` if needed (Pad's value).
Refusal adapt(Lowering& lowering, Node& node, const Quantization& q) {
  Graph& graph = lowering.graph;
  if (node.op == "Resize" && graph::string_attribute(node, "mode", "nearest") != "nearest") return "it interpolates";
  if (node.op == "Resize" &&
      graph::string_attribute(node, "coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize")
    return "it extrapolates";
  if (node.op != "Pad" || graph::string_attribute(node, "mode", "constant") != "constant") return "";
  if (node.inputs.size() > 2 && node.inputs[2].valid()) {
    const auto& value = graph.value(node.inputs[2]).constant;
    if (!value || value->count() != 1 || value->as_double(0) != 0)
      return "the padding value is not 0, and may not be a multiple of the scale";
  }
  if (node.inputs.size() < 3) node.inputs.resize(3);
  node.inputs[2] =
      lowering.int8_constant(node.name + "/value", NdArray::scalar(static_cast<std::int8_t>(q.zero_point)));
  return "";
}

}  // namespace

std::size_t moved_inputs(const Node& node) {
  const Mover* mover = find_mover(node.op);
  return mover == nullptr ? 0 : std::min(mover->data, node.inputs.size());
}

Refusal move_values(Lowering& lowering, NodeId op) {
  Graph& graph = lowering.graph;
  const Node original = graph.node(op);
  Node moved = original;
  std::optional<Quantization> q;
  for (std::size_t i = 0; i < moved_inputs(original); ++i) {
    const auto operand = lowering.dequantized(original.inputs[i]);
    if (!operand) return "an input is not quantized with one scale";
    if (q && *q != operand->q)
      return fmt::format("the inputs have different scales or zero points ({}, {} and {}, {})", q->scale, q->zero_point,
                         operand->q.scale, operand->q.zero_point);
    q = operand->q;
    moved.inputs[i] = operand->value;
  }
  for (std::size_t i = 1; i < original.outputs.size() && original.op != "Split"; ++i)
    if (graph.is_output(original.outputs[i]) || !graph.users(original.outputs[i]).empty())
      return fmt::format("output {} is used", i);
  if (Refusal refusal = adapt(lowering, moved, *q); !refusal.empty()) return refusal;

  const std::size_t outputs = original.op == "Split" ? original.outputs.size() : 1;
  moved.outputs.clear();
  for (std::size_t i = 0; i < outputs; ++i)
    moved.outputs.push_back(graph.add_value(graph.value(original.outputs[i]).name + "/int8",
                                            {DType::int8, graph.value(original.outputs[i]).type.shape}));
  moved.name = graph.unique_node_name(original.name);
  const std::vector<ValueId> results = moved.outputs;
  const bool all_constant = std::all_of(moved.inputs.begin(), moved.inputs.end(),
                                        [&](ValueId input) { return !input.valid() || graph.is_constant(input); });
  const NodeId placed = graph.add_node(std::move(moved));
  if (auto inferred = ops::infer(graph, placed); !inferred) {
    graph.remove_node(placed);
    return inferred.errors().front().why;
  }
  graph.remove_node(op);
  graph.edit(placed)->name = original.name;
  for (std::size_t i = 0; i < outputs; ++i) {
    lowering.fresh.insert(results[i]);
    lowering.dequantize_to(original.outputs[i], {results[i], *q}, placed);
  }
  if (all_constant)
    if (auto values = evaluate_node(graph, placed, lowering.context.evaluate))
      replace_by_constants(graph, placed, *std::move(values));
  ++lowering.outcome.changes;
  return "";
}

Refusal order_steps(Lowering& lowering, NodeId op) {
  Graph& graph = lowering.graph;
  const auto x = lowering.dequantized(graph.node(op).inputs[0]);
  if (!x) return "the input is not quantized with one scale";
  const ValueId real = graph.node(op).inputs[0];
  graph.edit(op)->inputs[0] = x->value;
  if (auto inferred = ops::infer(graph, op); !inferred) {
    graph.edit(op)->inputs[0] = real;
    return inferred.errors().front().why;
  }
  ++lowering.outcome.changes;
  return "";
}

std::optional<std::pair<float, float>> clip_bounds(const Graph& graph, const Node& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (node.op == "Relu") return std::pair{0.0f, kInfinity};
  if (node.op != "Clip") return std::nullopt;
  std::pair<float, float> bounds{-kInfinity, kInfinity};
  for (std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (node.inputs.size() <= i || !node.inputs[i].valid()) continue;
    const auto& constant = graph.value(node.inputs[i]).constant;
    if (!constant || constant->count() != 1 || std::isnan(constant->as_double(0))) return std::nullopt;
    (i == 1 ? bounds.first : bounds.second) = static_cast<float>(constant->as_double(0));
  }
  return bounds;
}

Refusal clip_steps(Lowering& lowering, NodeId op) {
  Graph& graph = lowering.graph;
  const Node original = graph.node(op);
  const auto x = lowering.dequantized(original.inputs[0]);
  if (!x) return "the input is not quantized with one scale";
  const auto bounds = clip_bounds(graph, original);
  if (!bounds) return "the bounds are not constants";
  // A bound within the range of int8 must be exactly representable in it.
  const auto exact = [&](float bound) {
    const int step = quantize(bound, x->q);
    const float least = static_cast<float>(-128 - x->q.zero_point) * x->q.scale,
                most = static_cast<float>(127 - x->q.zero_point) * x->q.scale;
    return bound <= least || bound >= most || static_cast<float>(step - x->q.zero_point) * x->q.scale == bound;
  };
  if (!exact(bounds->first) || !exact(bounds->second)) return "a bound is not a multiple of the input's scale";
  const Range range = clamp_before({}, bounds->first, bounds->second, x->q);
  if (range.is_full() && !graph.is_output(original.outputs[0])) {  // it changes no step
    graph.remove_node(op);
    graph.replace_uses(original.outputs[0], original.inputs[0]);
    ++lowering.outcome.changes;
    return "";
  }
  Node node;
  node.op = "dovetail.qclip";
  node.inputs = {x->value};
  node.attributes["y_min"] = std::int64_t{range.min};
  node.attributes["y_max"] = std::int64_t{range.max};
  Refusal refusal;
  const auto clipped = lowering.add(std::move(node), op, graph.value(original.outputs[0]).name + "/int8", refusal);
  if (!clipped) return refusal;
  const NodeId placed = graph.value(*clipped).producer;
  graph.remove_node(op);
  graph.edit(placed)->name = original.name;
  lowering.dequantize_to(original.outputs[0], {*clipped, x->q}, placed);
  ++lowering.outcome.changes;
  return "";
}

}  // namespace dovetail::passes::qdq

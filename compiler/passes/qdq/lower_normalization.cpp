// Softmax, LayerNormalization and RMSNormalization of a quantized tensor.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

std::size_t axis_of(const Node& node, std::size_t rank) {
  const std::int64_t axis = graph::int_attribute(node, "axis", -1);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

Refusal not_quantized(const Graph& graph, ValueId value) {
  return fmt::format("%{} is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale",
                     graph.value(value).name);
}

std::vector<double> numbers(const NdArray& array) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < array.count(); ++i) all.push_back(array.as_double(i));
  return all;
}

// Quantized scores, and which of them a mask before the Softmax leaves visible.
struct Scores {
  Operand x;
  NodeId mask;      // Where or Add; invalid: all scores are visible
  ValueId visible;  // boolean
};

// A hidden score is at least so much less than any other that its exponential, 65535 * exp(-12), rounds to 0.
constexpr double kHidden = 12;

// Whether a mask that is broadcast to scores of this rank hides all scores along an axis somewhere.
bool hides_rows(const NdArray& visible, std::size_t axis, std::size_t rank) {
  const std::size_t missing = rank - visible.rank();
  const std::int64_t extent = axis < missing ? 1 : visible.shape()[axis - missing];
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < rank; ++i) inner *= i < missing ? 1 : visible.shape()[i - missing];
  for (std::int64_t row = 0; row < visible.count() / std::max<std::int64_t>(extent, 1); ++row) {
    bool any = false;
    for (std::int64_t k = 0; k < extent; ++k)
      any = any || visible.as_int64((row / inner * extent + k) * inner + row % inner) != 0;
    if (!any) return true;
  }
  return false;
}

// Reads Where(visible, scores, low), Where(hidden, low, scores), and Add(scores, mask) with a constant mask of 0 and
// low numbers.
Refusal read_scores(Lowering& lowering, ValueId value, std::size_t axis, std::optional<Scores>& scores) {
  Graph& graph = lowering.graph;
  if (const auto x = lowering.dequantized(value)) {
    scores = {*x, {}, {}};
    return "";
  }
  const NodeId id = graph.value(value).producer;
  if (!id.valid()) return not_quantized(graph, value);
  const Node mask = graph.node(id);
  if (mask.op != "Where" && mask.op != "Add") return not_quantized(graph, value);
  const std::size_t first = mask.op == "Where" ? 1 : 0;
  auto x = lowering.dequantized(mask.inputs[first]);
  const std::size_t other = x ? first + 1 : first;
  if (!x) x = lowering.dequantized(mask.inputs[first + 1]);
  if (!x || graph.is_constant(x->value)) return not_quantized(graph, value);
  if (graph.value(x->value).type.shape != graph.value(value).type.shape)
    return fmt::format("mask {} is larger than the scores", mask.name);
  const auto low = constant_reals(graph, mask.inputs[other]);
  if (!low) return fmt::format("the values of mask {} are not constant", mask.name);
  const double limit = (-128 - x->q.zero_point) * static_cast<double>(x->q.scale) - kHidden;
  const bool adds = mask.op == "Add";
  NdArray kept(DType::boolean, low->shape());
  for (std::int64_t i = 0; i < low->count(); ++i) {
    const double number = low->as_double(i);
    kept.set_int64(i, adds && number == 0);
    const double most = adds ? number + (127 - x->q.zero_point) * static_cast<double>(x->q.scale) : number;
    if (!(most <= limit) && !(adds && number == 0))
      return fmt::format("mask {} contains {}, which does not mask a score", mask.name, number);
  }
  // Where all scores are the same low number, all results are equal; a sum keeps the differences of hidden scores.
  if (adds && hides_rows(kept, axis, graph.value(value).type.shape.size()))
    return fmt::format("mask {} hides whole rows", mask.name);
  scores = {*x, id, {}};
  if (adds) {
    scores->visible = graph.add_constant(mask.name + "/visible", std::move(kept));
  } else if (other == 2) {
    scores->visible = mask.inputs[0];
  } else {
    Node inverse;
    inverse.op = "Not";
    inverse.inputs = {mask.inputs[0]};
    Refusal refusal;
    const auto visible = lowering.add(std::move(inverse), id, mask.name + "/visible", refusal);
    if (!visible) return refusal;
    scores->visible = *visible;
  }
  return "";
}

}  // namespace

Refusal lower_softmax(Lowering& lowering, NodeId op, const Target& target) {
  Graph& graph = lowering.graph;
  const Node float_node = graph.node(op);
  const Shape shape = graph.value(float_node.inputs[0]).type.shape;
  if (shape.empty()) return "it is a scalar";
  const std::size_t axis = axis_of(float_node, shape.size());
  std::optional<Scores> scores;
  if (Refusal refusal = read_scores(lowering, float_node.inputs[0], axis, scores); !refusal.empty()) return refusal;
  const Operand& x = scores->x;
  auto form = softmax(shape[axis], x.q.scale, target.q.scale);
  if (!form)
    return fmt::format("the sum of {} exponentials in steps of {} does not fit in 28 bits", shape[axis],
                       target.q.scale);
  Node node;
  node.op = "dovetail.qsoftmax";
  NdArray table = NdArray::from<std::uint16_t>({static_cast<std::int64_t>(form->table.size())}, form->table);
  node.inputs = {x.value, graph.add_constant(float_node.name + "/exponentials", std::move(table))};
  node.attributes["axis"] = static_cast<std::int64_t>(axis);
  node.attributes["scale"] = form->scale;
  node.attributes["shift"] = std::int64_t{form->shift};
  set_output(node, target.q, target.range);
  if (!scores->mask.valid()) return lowering.place(std::move(node), op, target);
  node.inputs.push_back(scores->visible);
  Target inner = target;
  inner.float_nodes.push_back(op);
  return lowering.place(std::move(node), scores->mask, inner);
}

Refusal lower_normalization(Lowering& lowering, NodeId op, const Target& target) {
  Graph& graph = lowering.graph;
  const Node float_node = graph.node(op);
  if (float_node.outputs.size() > 1) return "the mean and deviation are also used";
  const auto x = lowering.dequantized(float_node.inputs[0]);
  if (!x) return not_quantized(graph, float_node.inputs[0]);
  const Shape& shape = graph.value(x->value).type.shape;
  const std::size_t axis = axis_of(float_node, shape.size());
  std::int64_t extent = 1;
  for (std::size_t i = axis; i < shape.size(); ++i) extent *= shape[i];

  const auto gamma = constant_reals(graph, float_node.inputs[1]);
  if (!gamma) return fmt::format("scale %{} is not a constant", graph.value(float_node.inputs[1]).name);
  const bool has_bias = float_node.inputs.size() > 2 && float_node.inputs[2].valid();
  const auto beta = has_bias ? constant_reals(graph, float_node.inputs[2]) : std::optional(NdArray::scalar(0.0));
  if (!beta) return fmt::format("bias %{} is not a constant", graph.value(float_node.inputs[2]).name);
  const auto form = normalization(extent, graph::float_attribute(float_node, "epsilon", 1e-5), numbers(*gamma),
                                  numbers(*beta), x->q.scale, target.q.scale);
  if (!form)
    return fmt::format("rows of {} elements in steps of {}, or results in steps of {}, do not fit in int32", extent,
                       x->q.scale, target.q.scale);
  Node node;
  node.op = "dovetail.qnormalize";
  node.inputs = {x->value,
                 graph.add_constant(float_node.name + "/scale", NdArray::from<float>(gamma->shape(), form->scale)),
                 graph.add_constant(float_node.name + "/bias", NdArray::from<std::int32_t>(beta->shape(), form->bias))};
  node.attributes["axis"] = static_cast<std::int64_t>(axis);
  node.attributes["bits"] = std::int64_t{form->bits};
  node.attributes["center"] = std::int64_t{float_node.op == "LayerNormalization"};
  node.attributes["epsilon"] = form->epsilon;
  node.attributes["parts"] = form->parts;
  node.attributes["shift"] = std::int64_t{form->shift};
  node.attributes["x_zero_point"] = std::int64_t{x->q.zero_point};
  set_output(node, target.q, target.range);
  return lowering.place(std::move(node), op, target);
}

}  // namespace dovetail::passes::qdq

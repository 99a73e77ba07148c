// Add and Sub of two quantized tensors, Add of a constant after a convolution or matrix product.
#include <fmt/format.h>

#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

// Convolution or product + constant, without a QuantizeLinear between: the constant is a bias. nullopt if it is not
// such an Add.
std::optional<Refusal> as_bias(Lowering& lowering, NodeId op, const Target& target) {
  const Graph& graph = lowering.graph;
  const Node add = graph.node(op);
  for (std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const NodeId producer = graph.value(add.inputs[side]).producer;
    const ValueId constant = add.inputs[1 - side];
    if (!producer.valid() || graph.value(target.output).type.shape != graph.value(add.inputs[side]).type.shape)
      continue;
    const std::string inner = graph.node(producer).op;
    const bool is_conv = inner == "Conv", is_product = inner == "MatMul" || inner == "Gemm";
    if (!is_conv && !is_product) continue;
    Target fused = target;
    fused.float_nodes.push_back(op);
    if (is_product) return lower_matrix_product_with(lowering, producer, fused, constant);
    // [C, 1, 1] or [1, C, 1, 1], as a Conv's bias broadcasts; or one number.
    const Shape& shape = graph.value(constant).type.shape;
    const std::size_t rank = graph.value(target.output).type.shape.size();
    const std::int64_t channels = graph.value(target.output).type.shape[1];
    const bool per_channel = shape.size() + 1 >= rank && shape.size() <= rank &&
                             shape[shape.size() + 1 - rank] == channels && element_count(shape) == channels;
    if (!per_channel && element_count(shape) != 1)
      return fmt::format("the node adds %{} of shape {}, which is not a bias per channel", graph.value(constant).name,
                         to_string(shape));
    return lower_convolution_with(lowering, producer, fused, constant);
  }
  return std::nullopt;
}

}  // namespace

Refusal lower_addition(Lowering& lowering, NodeId op, const Target& target) {
  const Node add = lowering.graph.node(op);
  if (add.inputs.size() != 2) return fmt::format("the node adds {} tensors, but must add 2", add.inputs.size());
  if (add.op != "Sub")
    if (const auto refusal = as_bias(lowering, op, target)) return *refusal;
  const auto a = lowering.dequantized(add.inputs[0]), b = lowering.dequantized(add.inputs[1]);
  if (!a || !b)
    return fmt::format("%{} is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale",
                       lowering.graph.value(add.inputs[a ? 1 : 0]).name);
  const auto numbers = addition(a->q, b->q, target.q.scale, add.op == "Sub");
  if (!numbers) return fmt::format("scales {}, {} and {} are too far apart", a->q.scale, b->q.scale, target.q.scale);
  Node node;
  node.op = "dovetail.qadd";
  node.inputs = {a->value, b->value};
  node.attributes["a_zero_point"] = std::int64_t{a->q.zero_point};
  node.attributes["b_zero_point"] = std::int64_t{b->q.zero_point};
  node.attributes["a_multiplier"] = numbers->a_multiplier;
  node.attributes["b_multiplier"] = numbers->b_multiplier;
  node.attributes["scale"] = numbers->scale;
  set_output(node, target.q, target.range);
  return lowering.place(std::move(node), op, target);
}

}  // namespace dovetail::passes::qdq

// Products of two quantized tensors: elementwise, as in gates and squeeze-and-excitation.
#include <cmath>

#include <fmt/format.h>

#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {

Refusal lower_product(Lowering& lowering, NodeId op, const Target& target) {
  Graph& graph = lowering.graph;
  const Node mul = graph.node(op);
  // A product with one constant number is lowered like a convolution: it rounds once and runs on the same targets.
  for (std::size_t side : {std::size_t{0}, std::size_t{1}})
    if (is_one_constant(lowering, mul.inputs[1 - side])) {
      const auto x = lowering.dequantized(mul.inputs[side]);
      if (x && !graph.is_constant(x->value) && graph.value(x->value).type.shape.size() >= 3)
        return lower_scaling(lowering, op, target);
    }
  const auto a = lowering.dequantized(mul.inputs[0]), b = lowering.dequantized(mul.inputs[1]);
  if (!a || !b)
    return fmt::format("%{} is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale",
                       graph.value(mul.inputs[a ? 1 : 0]).name);
  const float scale = requantization_scale(a->q.scale, b->q.scale, target.q.scale);
  if (!std::isnormal(scale))
    return fmt::format("scale {} * {} / {} is not a normal binary32", a->q.scale, b->q.scale, target.q.scale);
  Node node;
  node.op = "dovetail.qmul";
  node.inputs = {a->value, b->value};
  node.attributes["a_zero_point"] = std::int64_t{a->q.zero_point};
  node.attributes["b_zero_point"] = std::int64_t{b->q.zero_point};
  node.attributes["scale"] = static_cast<double>(scale);
  set_output(node, target.q, target.range);
  return lowering.place(std::move(node), op, target);
}

}  // namespace dovetail::passes::qdq

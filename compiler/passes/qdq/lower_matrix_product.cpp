// Gemm and MatMul: products with a constant matrix, or of two activations.
#include <cmath>

#include <fmt/format.h>

#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

NdArray transposed(const NdArray& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  NdArray result(matrix.dtype(), {columns, rows});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) result.set_int64(j * rows + i, matrix.as_int64(i * columns + j));
  return result;
}

// A Gemm's C or an Add's constant may vary along the columns only: [N], [1, N], [1], ...
bool is_row(const Shape& shape, std::int64_t columns) {
  return element_count(shape) == 1 || (!shape.empty() && shape.back() == columns && element_count(shape) == columns);
}

// Lowers a product whose operands both vary, or whose second operand is more than a matrix (attention), without a bias.
Refusal multiply_activations(Lowering& lowering, NodeId op, const Operand& a, const Operand& b, const Target& target) {
  const float scale = requantization_scale(a.q.scale, b.q.scale, target.q.scale);
  if (!std::isnormal(scale))
    return fmt::format("scale {} * {} / {} is not a normal binary32", a.q.scale, b.q.scale, target.q.scale);
  Node node;
  node.op = "dovetail.qmatmul";
  node.inputs = {a.value, b.value};
  node.attributes["a_zero_point"] = std::int64_t{a.q.zero_point};
  node.attributes["b_zero_point"] = std::int64_t{b.q.zero_point};
  node.attributes["scale"] = static_cast<double>(scale);
  set_output(node, target.q, target.range);
  return lowering.place(std::move(node), op, target);
}

Refusal multiply(Lowering& lowering, NodeId op, const Target& target, std::vector<ValueId> biases) {
  Graph& graph = lowering.graph;
  const Node product = graph.node(op);
  const bool is_gemm = product.op == "Gemm";
  const auto x = lowering.dequantized(product.inputs[0]);
  if (!x) return "the input is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale";
  if (const auto w = lowering.dequantized(product.inputs[1]);
      w && !is_gemm && biases.empty() && (!graph.is_constant(w->value) || graph.value(w->value).type.shape.size() != 2))
    return multiply_activations(lowering, op, *x, *w, target);
  if (graph::int_attribute(product, "transA", 0) != 0)
    return "transA is 1, but only the second operand may be transposed";
  const double alpha = is_gemm ? graph::float_attribute(product, "alpha", 1) : 1.0;
  if (!(alpha > 0)) return fmt::format("alpha is {}, but must be positive", alpha);
  if (graph.value(product.inputs[1]).type.shape.size() != 2)
    return fmt::format("the second operand is {}, but must be a matrix",
                       to_string(graph.value(product.inputs[1]).type));
  const bool has_c = product.inputs.size() > 2 && product.inputs[2].valid();
  if (has_c && graph::float_attribute(product, "beta", 1) != 1)
    return fmt::format("beta is {}, but must be 1", graph::float_attribute(product, "beta", 1));
  if (has_c) biases.push_back(product.inputs[2]);

  const bool out_in = is_gemm && graph::int_attribute(product, "transB", 0) != 0;
  Weight weight;
  if (Refusal refusal = lowering.read_weight(product.inputs[1], out_in ? 0 : 1, weight); !refusal.empty())
    return refusal;
  if (!out_in) weight.steps = transposed(weight.steps);
  for (float& scale : weight.scales) scale = static_cast<float>(static_cast<double>(scale) * alpha);
  const std::int64_t columns = weight.steps.shape()[0];
  for (ValueId bias : biases)
    if (!is_row(graph.value(bias).type.shape, columns))
      return fmt::format("bias %{} of shape {} is not a row of {}", graph.value(bias).name,
                         to_string(graph.value(bias).type.shape), columns);
  Accumulation accumulation;
  if (Refusal refusal = accumulate(lowering, *x, weight, biases, target.q, accumulation); !refusal.empty())
    return refusal;

  Node node;
  node.op = "dovetail.qgemm";
  node.inputs = {x->value, lowering.int8_constant(product.name + "/weight", weight.steps),
                 graph.add_constant(product.name + "/bias", accumulation.bias),
                 graph.add_constant(product.name + "/scale", accumulation.scale)};
  if (weight.has_zero_points()) {
    NdArray zero_points(DType::int8, {columns});
    for (std::int64_t i = 0; i < columns; ++i)
      zero_points.set_int64(i, weight.zero_points[static_cast<std::size_t>(i)]);
    node.inputs.push_back(lowering.int8_constant(product.name + "/weight_zero_point", std::move(zero_points)));
  }
  node.attributes["x_zero_point"] = std::int64_t{x->q.zero_point};
  set_output(node, target.q, target.range);
  return lowering.place(std::move(node), op, target);
}

}  // namespace

Refusal lower_matrix_product(Lowering& lowering, NodeId op, const Target& target) {
  return multiply(lowering, op, target, {});
}
Refusal lower_matrix_product_with(Lowering& lowering, NodeId op, const Target& target, ValueId extra) {
  return multiply(lowering, op, target, {extra});
}

}  // namespace dovetail::passes::qdq

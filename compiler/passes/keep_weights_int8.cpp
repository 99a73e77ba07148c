// Turns convolutions and matrix products of float activations and quantized constants into dovetail.wconv and wgemm,
// which read the weights as int8.
//
// Applies to Conv, Gemm and MatMul whose weight is DequantizeLinear of a constant int8 or uint8 with one scale, or one
// per output; all others are left to constant folding, with a note. Run it after lower_qdq, before constants are
// folded.
#include <fmt/format.h>

#include "compiler/ops/convolve.h"
#include "compiler/ops/op.h"
#include "compiler/passes/list.h"
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes {
namespace {

using namespace qdq;

// [N, K] as [K, N].
NdArray transposed(const NdArray& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  NdArray result(matrix.dtype(), {columns, rows});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) result.set_int64(j * rows + i, matrix.as_int64(i * columns + j));
  return result;
}

class Keeper {
 public:
  explicit Keeper(Lowering& lowering) : lowering_(lowering), graph_(lowering.graph) {}

  // Changes the product at `id` to read its weight as bytes. Returns why this is not possible; "" if it was done.
  Refusal keep(NodeId id) {
    const Node product = graph_.node(id);
    const bool is_conv = product.op == "Conv", is_gemm = product.op == "Gemm";
    const std::int64_t rank = static_cast<std::int64_t>(graph_.value(product.inputs[1]).type.shape.size());
    if (graph_.value(product.outputs[0]).type.dtype != DType::float32) return "the node does not compute in float32";
    if (!is_conv && rank != 2) return fmt::format("its weight has {} axes; a matrix has 2", rank);
    if (is_gemm &&
        (graph::int_attribute(product, "transA", 0) != 0 || graph::float_attribute(product, "alpha", 1) != 1))
      return "the node transposes or scales its operands";
    const bool out_in = is_gemm && graph::int_attribute(product, "transB", 0) != 0;
    Weight weight;
    if (Refusal refusal = lowering_.read_weight(product.inputs[1], is_conv || out_in ? 0 : 1, weight); !refusal.empty())
      return refusal;
    const auto outputs = static_cast<std::int64_t>(weight.scales.size());
    ValueId bias;
    if (product.inputs.size() > 2 && product.inputs[2].valid()) {
      bias = product.inputs[2];
      if (is_gemm && graph::float_attribute(product, "beta", 1) != 1) return "the node scales its operands";
      if (graph_.value(bias).type.shape != Shape{outputs})
        return fmt::format("the bias has shape {}, but must have [{}]", to_string(graph_.value(bias).type.shape),
                           outputs);
    }

    Node node;
    node.op = is_conv ? "dovetail.wconv" : "dovetail.wgemm";
    node.origins = product.origins;
    node.name = graph_.unique_node_name(product.name + "/int8");
    if (is_conv) node.attributes = product.attributes;
    node.attributes.erase("kernel_shape");
    node.inputs = {product.inputs[0],
                   graph_.add_constant(product.name + "/weight", out_in ? transposed(weight.steps) : weight.steps),
                   graph_.add_constant(product.name + "/scale", NdArray::from<float>({outputs}, weight.scales)), bias};
    if (weight.has_zero_points()) {
      NdArray zero_points(DType::int8, {outputs});
      for (std::int64_t o = 0; o < outputs; ++o)
        zero_points.set_int64(o, weight.zero_points[static_cast<std::size_t>(o)]);
      node.inputs.push_back(graph_.add_constant(product.name + "/weight_zero_point", std::move(zero_points)));
    }
    while (!node.inputs.back().valid()) node.inputs.pop_back();
    const ValueId scratch = graph_.add_value(graph_.value(product.outputs[0]).name + "/int8", {});
    node.outputs = {scratch};
    const NodeId placed = graph_.add_node(std::move(node));
    if (auto inferred = ops::infer(graph_, placed); !inferred) {
      graph_.remove_node(placed);
      return inferred.errors().front().why;
    }
    graph_.remove_node(id);
    graph_.value(scratch).producer = {};
    graph_.edit(placed)->outputs = product.outputs;
    graph_.edit(placed)->name = product.name;
    graph_.value(product.outputs[0]).producer = placed;
    ++lowering_.outcome.changes;
    return "";
  }

 private:
  Lowering& lowering_;
  Graph& graph_;
};

bool is_dequantized_constant(const Graph& graph, ValueId value) {
  const NodeId producer = value.valid() ? graph.value(value).producer : NodeId{};
  return producer.valid() && graph.node(producer).op == "DequantizeLinear" &&
         graph.is_constant(graph.node(producer).inputs[0]);
}

}  // namespace

Result<PassOutcome> keep_weights_int8(graph::Graph& graph, const PassContext& context) {
  Lowering lowering{graph, context, {}, {}, {}, {}};
  Keeper keeper(lowering);
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    if ((node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul") ||
        !is_dequantized_constant(graph, node.inputs[1]))
      continue;
    const std::int64_t bytes = element_count(graph.value(node.inputs[1]).type.shape);
    const Refusal refusal = keeper.keep(id);
    lowering.outcome.notes.push_back(
        refusal.empty() ? fmt::format("{} ({}) reads its weight as {} bytes of int8", node.name, node.op, bytes)
                        : fmt::format("{} ({}) expands its weight to {} bytes of float32: {}", node.name, node.op,
                                      4 * bytes, refusal));
  }
  if (lowering.outcome.changes > 0) DOVETAIL_TRY(eliminate_dead_nodes(graph));
  return std::move(lowering.outcome);
}

}  // namespace dovetail::passes

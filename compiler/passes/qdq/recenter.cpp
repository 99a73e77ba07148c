// Turns uint8 activations into int8: every QuantizeLinear to uint8 and DequantizeLinear from uint8 uses int8 with a
// zero point reduced by 128, and dovetail.recenter converts where the uint8 value itself is needed (graph inputs and
// outputs, operators that are not lowered).
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

// The zero points of a uint8 QuantizeLinear or DequantizeLinear, reduced by 128, as int8; a scalar if the model gives
// none. nullopt if they are not constant.
std::optional<NdArray> recentered_zero_points(const Graph& graph, const Node& node) {
  if (node.inputs.size() <= 2 || !node.inputs[2].valid()) {
    NdArray zero_points(DType::int8, graph.value(node.inputs[1]).type.shape);
    for (std::int64_t i = 0; i < zero_points.count(); ++i) zero_points.set_int64(i, -128);
    return zero_points;
  }
  const auto& constant = graph.value(node.inputs[2]).constant;
  if (!constant) return std::nullopt;
  NdArray zero_points(DType::int8, constant->shape());
  for (std::int64_t i = 0; i < zero_points.count(); ++i) zero_points.set_int64(i, constant->as_int64(i) - 128);
  return zero_points;
}

Node recenter(Lowering& lowering, ValueId from, ValueId to, NodeId of) {
  Node node;
  node.op = "dovetail.recenter";
  node.name = lowering.graph.unique_node_name(lowering.graph.node(of).name + "/recenter");
  node.inputs = {from};
  node.outputs = {to};
  node.attributes["to"] = std::int64_t{info(lowering.graph.value(to).type.dtype).onnx};
  node.origins = lowering.graph.node(of).origins;
  return node;
}

void set_zero_point(Lowering& lowering, NodeId node, NdArray zero_points) {
  const ValueId value =
      lowering.graph.add_constant(lowering.graph.node(node).name + "/zero_point", std::move(zero_points));
  lowering.graph.edit(node)->inputs.resize(3);
  lowering.graph.edit(node)->inputs[2] = value;
}

void recenter_quantize(Lowering& lowering, NodeId id) {
  Graph& graph = lowering.graph;
  auto zero_points = recentered_zero_points(graph, graph.node(id));
  if (!zero_points) return;
  const ValueId bytes = graph.node(id).outputs[0];
  const ValueId steps =
      graph.add_value(graph.value(bytes).name + "/int8", {DType::int8, graph.value(bytes).type.shape});
  graph.value(bytes).producer = {};
  graph.value(steps).producer = id;
  graph.edit(id)->outputs[0] = steps;
  graph.edit(id)->attributes.erase("output_dtype");
  set_zero_point(lowering, id, *std::move(zero_points));
  graph.add_node(recenter(lowering, steps, bytes, id));
}

void recenter_dequantize(Lowering& lowering, NodeId id) {
  Graph& graph = lowering.graph;
  auto zero_points = recentered_zero_points(graph, graph.node(id));
  const ValueId bytes = graph.node(id).inputs[0];
  if (!zero_points || graph.is_constant(bytes)) return;  // constants are converted where they are read
  const NodeId producer = graph.value(bytes).producer;
  ValueId steps;
  if (producer.valid() && graph.node(producer).op == "dovetail.recenter") {
    steps = graph.node(producer).inputs[0];
  } else {
    // One conversion per value, which all its DequantizeLinear nodes share.
    for (NodeId user : graph.users(bytes))
      if (graph.node(user).op == "dovetail.recenter") steps = graph.node(user).outputs[0];
    if (!steps.valid()) {
      steps = graph.add_value(graph.value(bytes).name + "/int8", {DType::int8, graph.value(bytes).type.shape});
      graph.add_node(recenter(lowering, bytes, steps, id));
    }
  }
  graph.edit(id)->inputs[0] = steps;
  set_zero_point(lowering, id, *std::move(zero_points));
}

}  // namespace

void recenter_activations(Lowering& lowering) {
  Graph& graph = lowering.graph;
  for (NodeId id : graph.topological_order()) {
    const std::string op = graph.node(id).op;
    if (op == "QuantizeLinear" && graph.value(graph.node(id).outputs[0]).type.dtype == DType::uint8)
      recenter_quantize(lowering, id);
    else if (op == "DequantizeLinear" && graph.value(graph.node(id).inputs[0]).type.dtype == DType::uint8)
      recenter_dequantize(lowering, id);
  }
}

}  // namespace dovetail::passes::qdq

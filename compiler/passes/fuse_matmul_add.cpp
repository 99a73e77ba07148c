// Fuses a MatMul of two matrices and an Add of a row or a full matrix into one equivalent Gemm.
#include "compiler/ops/naive.h"
#include "compiler/passes/list.h"

namespace dovetail::passes {
namespace {

using graph::NodeId;
using graph::ValueId;

// Gemm's C is broadcast to [m, n], and must not make the result larger.
bool broadcasts_to(const Shape& shape, const Shape& target) {
  if (shape.size() > target.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (const std::int64_t extent = shape[shape.size() - 1 - i]; extent != 1 && extent != target[target.size() - 1 - i])
      return false;
  return true;
}

// Gemm supports floats, and 32- and 64-bit integers. It rounds 16-bit floats once, after the sum with C, while MatMul
// and Add round twice.
bool fuse(graph::Graph& graph, NodeId add_id, Level level) {
  const graph::Node add = graph.node(add_id);
  if (add.op != "Add") return false;
  const DType dtype = graph.value(add.outputs[0]).type.dtype;
  if (level < Level::tolerant && ops::accumulator(dtype) != dtype) return false;
  for (std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const ValueId product = add.inputs[side], other = add.inputs[1 - side];
    const NodeId matmul_id = graph.value(product).producer;
    if (!matmul_id.valid() || graph.node(matmul_id).op != "MatMul" || product == other) continue;
    const graph::Node matmul = graph.node(matmul_id);
    if (graph.value(matmul.inputs[0]).type.shape.size() != 2 || graph.value(matmul.inputs[1]).type.shape.size() != 2)
      continue;
    if (graph.is_output(product) || graph.users(product).size() != 1) continue;
    if (!broadcasts_to(graph.value(other).type.shape, graph.value(product).type.shape)) continue;
    graph::Node gemm;
    gemm.name = matmul.name;
    gemm.op = "Gemm";
    gemm.inputs = {matmul.inputs[0], matmul.inputs[1], other};
    gemm.outputs = add.outputs;
    gemm.origins = matmul.origins;
    gemm.origins.insert(gemm.origins.end(), add.origins.begin(), add.origins.end());
    graph.remove_node(add_id);
    graph.remove_node(matmul_id);
    graph.add_node(std::move(gemm));
    return true;
  }
  return false;
}

}  // namespace

Result<PassOutcome> fuse_matmul_add(graph::Graph& graph, const PassContext& context) {
  PassOutcome outcome;
  for (NodeId id : graph.topological_order())
    if (!graph.node(id).removed && fuse(graph, id, context.level)) ++outcome.changes;
  return outcome;
}

}  // namespace dovetail::passes

// ReduceMean and ReduceSum over adjacent axes: an accumulation like that of an average pool, with the tensor viewed as
// [outer, 1, reduced, inner].
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

// The reduced axes, sorted; nullopt if they are unknown at compile time.
std::optional<std::vector<std::size_t>> reduced_axes(const Graph& graph, const Node& node, std::size_t rank) {
  std::vector<std::int64_t> given;
  if (node.inputs.size() > 1 && node.inputs[1].valid()) {
    const auto& constant = graph.value(node.inputs[1]).constant;
    if (!constant) return std::nullopt;
    for (std::int64_t i = 0; i < constant->count(); ++i) given.push_back(constant->as_int64(i));
  }
  std::vector<std::size_t> axes;
  if (given.empty() && graph::int_attribute(node, "noop_with_empty_axes", 0) == 0)
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  for (const std::int64_t axis : given)
    axes.push_back(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis));
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace

Refusal lower_reduction(Lowering& lowering, NodeId op, const Target& target) {
  Graph& graph = lowering.graph;
  const Node reduce = graph.node(op);
  const auto x = lowering.dequantized(reduce.inputs[0]);
  if (!x) return "the input is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale";
  const Shape shape = graph.value(x->value).type.shape, result = graph.value(target.output).type.shape;
  const auto axes = reduced_axes(graph, reduce, shape.size());
  if (!axes || axes->empty()) return "the node reduces no axis, or its axes are not constants";
  if (axes->back() - axes->front() + 1 != axes->size())
    return fmt::format("it reduces {} axes that are not adjacent; transpose first", axes->size());
  if (element_count(shape) == 0) return fmt::format("the input has the unsupported shape {}", to_string(shape));
  Operand image = *x;
  Refusal refusal;
  const auto reshaped = [&](ValueId from, const Shape& to, const char* stem) {
    Node node;
    node.op = "Reshape";
    node.inputs = {from, graph.add_constant(fmt::format("{}/{}_shape", reduce.name, stem),
                                            NdArray::from<std::int64_t>({static_cast<std::int64_t>(to.size())}, to))};
    return node;
  };
  // All spatial axes of an image are reduced in place; any other adjacent axes as the rows of [outer, 1, reduced,
  // inner].
  const bool spatial = shape.size() >= 3 && axes->front() == 2 && axes->back() + 1 == shape.size();
  Shape kernel(shape.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(shape.size())), shape.end());
  if (!spatial) {
    Shape seen{1, 1, 1, 1};
    for (std::size_t i = 0; i < shape.size(); ++i) seen[i < axes->front() ? 0 : i <= axes->back() ? 2 : 3] *= shape[i];
    kernel = {seen[2], 1};
    const auto matrix = lowering.add(reshaped(x->value, seen, "in"), op, reduce.name + "/in", refusal);
    if (!matrix) return refusal;
    image.value = *matrix;
  }
  Node sum;
  refusal = sum_windows(lowering, op, image, kernel,
                        reduce.op == "ReduceMean" ? static_cast<double>(element_count(kernel)) : 1.0, target, sum);
  if (!refusal.empty()) return refusal;
  if (spatial && result.size() == shape.size()) return lowering.place(std::move(sum), op, target);
  const auto reduced = lowering.add(std::move(sum), op, reduce.name + "/sum", refusal);
  if (!reduced) return refusal;
  return lowering.place(reshaped(*reduced, result, "out"), op, target);
}

}  // namespace dovetail::passes::qdq

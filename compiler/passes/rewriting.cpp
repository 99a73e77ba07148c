#include "compiler/passes/rewriting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/ops/op.h"

namespace dovetail::passes {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

std::optional<NodeId> produced_by(const Graph& graph, ValueId value, std::string_view op) {
  if (!value.valid()) return std::nullopt;
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).op != op || graph.node(producer).outputs[0] != value)
    return std::nullopt;
  return producer;
}

bool used_once(const Graph& graph, ValueId value) {
  if (graph.is_output(value)) return false;
  return graph.count_reads(value, 2) == 1;
}

bool has_input(const graph::Node& node, std::size_t position) {
  return position < node.inputs.size() && node.inputs[position].valid();
}

std::optional<double> uniform(const Graph& graph, ValueId value) {
  if (!graph.is_constant(value)) return std::nullopt;
  const NdArray& array = *graph.value(value).constant;
  if (array.count() == 0 || array.dtype() == DType::boolean) return std::nullopt;
  const double first = array.as_double(0);
  for (std::int64_t i = 1; i < array.count(); ++i)
    if (const double next = array.as_double(i); !(next == first && std::signbit(next) == std::signbit(first)))
      return std::nullopt;
  return first;
}

std::optional<std::vector<double>> along_axis(const Graph& graph, ValueId value, const Shape& shape, std::size_t axis) {
  if (!graph.is_constant(value) || axis >= shape.size()) return std::nullopt;
  const NdArray& array = *graph.value(value).constant;
  if (array.shape().size() > shape.size() || array.count() == 0) return std::nullopt;
  const std::size_t missing = shape.size() - array.shape().size();
  for (std::size_t i = 0; i < array.shape().size(); ++i)
    if (array.shape()[i] != 1 && (i + missing != axis || array.shape()[i] != shape[axis])) return std::nullopt;
  std::vector<double> values(static_cast<std::size_t>(shape[axis]));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = array.as_double(array.count() == 1 ? 0 : static_cast<std::int64_t>(i));
  return values;
}

std::optional<std::vector<std::int64_t>> integers(const Graph& graph, ValueId value) {
  if (!graph.is_constant(value)) return std::nullopt;
  const NdArray& array = *graph.value(value).constant;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < array.count(); ++i) values.push_back(array.as_int64(i));
  return values;
}

bool is_float(const Graph& graph, ValueId value) { return value.valid() && is_floating(graph.value(value).type.dtype); }

std::vector<std::int64_t> permutation(const Graph& graph, const graph::Node& node) {
  std::vector<std::int64_t> reversed(shape_of(graph, node.inputs[0]).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<std::int64_t> perm = graph::ints_attribute(node, "perm", reversed);
  for (std::int64_t& axis : perm)
    if (axis < 0) axis += static_cast<std::int64_t>(perm.size());
  return perm;
}

std::optional<std::vector<std::int64_t>> constant_pads(const Graph& graph, const graph::Node& pad) {
  const std::size_t rank = graph.value(pad.inputs[0]).type.shape.size();
  const auto given = integers(graph, pad.inputs[1]);
  if (!given || graph::string_attribute(pad, "mode", "constant") != "constant") return std::nullopt;
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (has_input(pad, 3)) axes = integers(graph, pad.inputs[3]).value_or(std::vector<std::int64_t>{});
  if (given->size() != 2 * axes.size()) return std::nullopt;
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(rank) : axes[i]);
    pads[axis] = (*given)[i];
    pads[axis + rank] = (*given)[i + axes.size()];
  }
  return pads;
}

void remove_unused(Graph& graph, NodeId id) {
  std::vector<NodeId> open{id};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (graph.node(node).removed) continue;
    const std::vector<ValueId> outputs = graph.node(node).outputs;
    if (std::any_of(outputs.begin(), outputs.end(),
                    [&](ValueId output) { return graph.is_output(output) || graph.count_reads(output, 1) > 0; }))
      continue;
    const std::vector<ValueId> inputs = graph.node(node).inputs;
    graph.remove_node(node);
    for (const ValueId input : inputs)
      if (input.valid() && graph.value(input).producer.valid()) open.push_back(graph.value(input).producer);
  }
}

bool become(Graph& graph, NodeId id, std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes,
            const std::vector<NodeId>& absorbed) {
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  graph::Node before = graph.node(id);
  std::vector<graph::TensorType> types;
  for (const ValueId output : before.outputs) types.push_back(graph.value(output).type);
  {
    const graph::NodeEdit node = graph.edit(id);
    node->op = std::string(op);
    node->inputs = std::move(inputs);
    node->attributes = std::move(attributes);
  }
  bool fits = ops::infer(graph, id).ok();
  for (std::size_t i = 0; i < types.size(); ++i) {
    graph::TensorType& now = graph.value(before.outputs[i]).type;
    fits = fits && now == types[i];
    now = types[i];
  }
  if (!fits) {
    *graph.edit(id) = std::move(before);
    return false;
  }
  const graph::NodeEdit made = graph.edit(id);
  std::vector<std::string>& origins = made->origins;
  if (origins.empty()) origins.push_back(before.name);
  for (const NodeId other : absorbed)
    for (const std::string& origin : graph.node(other).origins)
      if (std::find(origins.begin(), origins.end(), origin) == origins.end()) origins.push_back(origin);
  for (const ValueId input : before.inputs)
    if (input.valid() && graph.value(input).producer.valid()) remove_unused(graph, graph.value(input).producer);
  return true;
}

bool bypass(Graph& graph, NodeId id, ValueId value) {
  const ValueId output = graph.node(id).outputs[0];
  DOVETAIL_CHECK(graph.value(output).type == graph.value(value).type,
                 fmt::format("%{} cannot replace %{}", graph.value(value).name, graph.value(output).name));
  const std::vector<ValueId> inputs = graph.node(id).inputs;
  if (!graph.is_output(output)) {
    graph.remove_node(id);
    graph.replace_uses(output, value);
  } else if (const NodeId producer = graph.value(value).producer;
             producer.valid() && producer != id && !graph.is_output(value)) {
    // A graph output keeps its name: the producer of the value defines it instead.
    graph.remove_node(id);
    std::ranges::replace(graph.edit(producer)->outputs, value, output);
    graph.value(output).producer = producer;
    graph.value(value).producer = {};
    graph.replace_uses(value, output);
  } else {
    return false;
  }
  for (const ValueId input : inputs)
    if (input.valid() && graph.value(input).producer.valid()) remove_unused(graph, graph.value(input).producer);
  return true;
}

ValueId insert(Graph& graph, std::string_view op, std::string_view stem, std::vector<ValueId> inputs,
               graph::Attributes attributes, const std::vector<std::string>& origins) {
  graph::Node node;
  node.name = graph.unique_node_name(stem);
  node.op = std::string(op);
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.origins = origins;
  const ValueId output = graph.add_value(stem, {});
  node.outputs = {output};
  const NodeId id = graph.add_node(std::move(node));
  const Result<void> inferred = ops::infer(graph, id);
  DOVETAIL_CHECK(inferred.ok(), to_string(inferred.errors()));
  return output;
}

ValueId add_integers(Graph& graph, std::string_view stem, const std::vector<std::int64_t>& values) {
  return graph.add_constant(stem, NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

ValueId add_scalar(Graph& graph, std::string_view stem, DType dtype, double value) {
  NdArray array(dtype, {});
  array.set_double(0, value);
  return graph.add_constant(stem, std::move(array));
}

std::optional<NdArray> rounded(DType dtype, const Shape& shape, const std::vector<double>& values) {
  double least = std::numeric_limits<double>::min();
  if (dtype == DType::float32 || dtype == DType::bfloat16)
    least = static_cast<double>(std::numeric_limits<float>::min());
  if (dtype == DType::float16) least = 0x1p-14;
  NdArray array(dtype, shape);
  bool normal = false, tiny = false;
  // A fast path for float32, the type of nearly all weights, without a check of the type for every element.
  const std::span<float> floats = dtype == DType::float32 ? array.data<float>() : std::span<float>();
  const auto store = [&](std::size_t i) -> double {
    if (!floats.empty()) return floats[i] = static_cast<float>(values[i]);
    array.set_double(static_cast<std::int64_t>(i), values[i]);
    return array.as_double(static_cast<std::int64_t>(i));
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double stored = std::abs(store(i));
    if (!std::isfinite(stored)) return std::nullopt;
    normal |= stored >= least;
    tiny |= values[i] != 0 && stored < least;
  }
  if (tiny && !normal) return std::nullopt;
  return array;
}

}  // namespace dovetail::passes

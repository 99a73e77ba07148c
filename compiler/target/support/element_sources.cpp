#include "compiler/target/support/element_sources.h"

#include <charconv>
#include <map>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/ops/op.h"
#include "loops/interpreter.h"

namespace dovetail {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

NdArray as_int32(const NdArray& values) {
  NdArray wide(DType::int32, values.shape());
  for (std::int64_t i = 0; i < values.count(); ++i) wide.set_int64(i, values.as_int64(i));
  return wide;
}

// The result of the node on tensors of positions in place of its int8 operands.
Result<NdArray> run(const Graph& graph, const Node& node, const std::map<ValueId, NdArray>& positions) {
  Graph alone;
  Node copy = node;
  std::vector<NdArray> operands(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (!input.valid()) continue;
    const graph::Value& value = graph.value(input);
    if (const auto known = positions.find(input); known != positions.end()) operands[i] = known->second;
    else operands[i] = value.type.dtype == DType::int8 ? as_int32(*value.constant) : *value.constant;
    copy.inputs[i] = value.constant ? alone.add_constant(value.name, operands[i])
                                    : alone.add_value(value.name, {DType::int32, value.type.shape});
  }
  copy.outputs.clear();
  for (const ValueId output : node.outputs) copy.outputs.push_back(alone.add_value(graph.value(output).name, {}));
  const NodeId id = alone.add_node(std::move(copy));
  DOVETAIL_TRY(ops::infer(alone, id));
  DOVETAIL_ASSIGN(const loops::Program program, ops::define(alone, id));
  std::vector<NdArray> arguments;
  for (const loops::Parameter& parameter : program.parameters) {
    if (parameter.role == loops::ParameterRole::output) continue;
    const std::string_view name = parameter.buffer->name;  // "in<position>"
    std::size_t position = operands.size();
    std::from_chars(name.data() + 2, name.data() + name.size(), position);
    DOVETAIL_CHECK(position < operands.size(), fmt::format("{} must be an operand of {}", name, node.name));
    arguments.push_back(operands[position]);
  }
  DOVETAIL_ASSIGN(std::vector<NdArray> results, loops::evaluate(program, arguments));
  return std::move(results.front());
}

}  // namespace

Result<NdArray> element_sources(const Graph& graph, std::span<const NodeId> nodes, std::span<const ValueId> inputs) {
  std::map<ValueId, NdArray> positions;
  std::int64_t next = kFirstSource;
  for (const ValueId input : inputs) {
    if (positions.count(input)) continue;
    const Shape& shape = graph.value(input).type.shape;
    const std::int64_t end = next + element_count(shape);
    if (end > INT32_MAX)
      return Diagnostic{"cannot trace the elements of the result", graph.node(nodes.back()).name,
                        fmt::format("the operands have more than {} elements", INT32_MAX - kFirstSource),
                        "choose another target for the node"};
    NdArray own(DType::int32, shape);
    std::iota(own.data<std::int32_t>().begin(), own.data<std::int32_t>().end(), static_cast<std::int32_t>(next));
    positions.emplace(input, std::move(own));
    next = end;
  }
  for (const NodeId id : nodes) {
    DOVETAIL_ASSIGN(NdArray result, run(graph, graph.node(id), positions));
    positions.insert_or_assign(graph.node(id).outputs.front(), std::move(result));
  }
  return std::move(positions.at(graph.node(nodes.back()).outputs.front()));
}

}  // namespace dovetail

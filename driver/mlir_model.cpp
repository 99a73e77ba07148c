#include "driver/mlir_model.h"

#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"
#include "mlir/tensors.h"

namespace dovetail::driver {

namespace {

using graph::ValueId;

std::vector<mlir::TensorModule::Port> ports_of(const graph::Graph& graph, const std::vector<ValueId>& values) {
  std::vector<mlir::TensorModule::Port> ports;
  for (const ValueId id : values) {
    const graph::Value& value = graph.value(id);
    ports.push_back({value.name, value.type.dtype, value.type.shape});
  }
  return ports;
}

struct DefinedNode {
  graph::NodeId node;
  loops::Program program;
  std::vector<std::size_t> operands;
};

// The nodes' programs, or why some of them have no form on tensors.
Result<std::vector<DefinedNode>> define_all(const graph::Graph& graph) {
  std::vector<DefinedNode> defined;
  std::map<std::string, std::vector<std::string>> refused;  // reasons by operator
  Diagnostics errors;
  for (const graph::NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    const auto refuse = [&](const std::string& why) {
      refused[node.op].push_back(fmt::format("{} ({})", node.name, why));
    };
    if (!node.subgraphs.empty()) {
      refuse("it runs subgraphs");
      continue;
    }
    auto program = ops::define(graph, id);
    if (!program.ok()) {
      errors.insert(errors.end(), program.errors().begin(), program.errors().end());
      continue;
    }
    if (const auto problem = mlir::why_no_tensors(*program)) {
      refuse(*problem);
      continue;
    }
    program->name = node.name;
    std::vector<std::size_t> operands = passes::operand_positions(*program);
    defined.push_back({id, *std::move(program), std::move(operands)});
  }
  for (const auto& [op, nodes] : refused)
    errors.push_back({"cannot write MLIR", graph.name,
                      fmt::format("{} has no form on tensors: {}", op, fmt::join(nodes, ", ")),
                      "leave the operator to the caller, or write it as a kernel (docs/howto/mlir.md)"});
  if (!errors.empty()) return errors;
  return defined;
}

}  // namespace

Result<std::string> graph_to_mlir(const graph::Graph& graph) {
  DOVETAIL_ASSIGN(const std::vector<DefinedNode> nodes, define_all(graph));
  mlir::TensorModule module;
  module.begin(graph.name, ports_of(graph, graph.inputs));
  std::map<std::int32_t, std::string> names;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) names[graph.inputs[i].index] = fmt::format("%arg{}", i);
  const auto name_of = [&](ValueId id) {
    const auto [found, is_new] = names.emplace(id.index, "");
    if (const graph::Value& value = graph.value(id); is_new && value.constant)
      found->second = module.constant(value.name, *value.constant);
    return found->second;
  };
  for (const DefinedNode& each : nodes) {
    const graph::Node& node = graph.node(each.node);
    std::vector<std::string> operands;
    for (const std::size_t position : each.operands) operands.push_back(name_of(node.inputs[position]));
    const std::vector<std::string> results = module.call(each.program, operands);
    std::size_t next = 0;
    for (const ValueId output : node.outputs)
      if (output.valid() && next < results.size()) names[output.index] = results[next++];
  }
  std::vector<std::string> results;
  for (const ValueId output : graph.outputs) results.push_back(name_of(output));
  module.end(results, ports_of(graph, graph.outputs));
  return module.text();
}

}  // namespace dovetail::driver

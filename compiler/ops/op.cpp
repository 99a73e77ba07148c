#include "compiler/ops/op.h"

#include <algorithm>

#include <fmt/format.h>

namespace dovetail::ops {
namespace {

Result<const OpDef*> require_known(const Operands& operands) {
  if (const OpDef* def = find(operands.node.op)) return def;
  return refuse(operands, fmt::format("the operator is not one of the {} supported ones", all().size()),
                "use supported operators, or add this one in compiler/ops");
}

}  // namespace

const OpDef* find(std::string_view op) {
  const std::span<const OpDef> rows = all();
  const auto row = std::lower_bound(rows.begin(), rows.end(), op,
                                    [](const OpDef& def, std::string_view op_name) { return def.op < op_name; });
  return row != rows.end() && row->op == op ? &*row : nullptr;
}

Result<void> infer(graph::Graph& graph, graph::NodeId node) {
  const Operands operands{graph, graph.node(node)};
  DOVETAIL_ASSIGN(const OpDef* def, require_known(operands));
  DOVETAIL_TRY(check_signature(*def, operands));
  DOVETAIL_ASSIGN(Types types, def->infer(operands));
  const std::vector<graph::ValueId>& outputs = graph.node(node).outputs;
  if (outputs.size() < types.size())
    return refuse(operands,
                  fmt::format("the node names {} outputs, but the operator has {}", outputs.size(), types.size()),
                  "name all outputs, including unused ones");
  DOVETAIL_CHECK(types.size() == outputs.size(),
                 fmt::format("{}: {} types for {} outputs", def->op, types.size(), outputs.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].valid()) graph.value(outputs[i]).type = std::move(types[i]);
  return {};
}

Result<loops::Program> define(const graph::Graph& graph, graph::NodeId node) {
  const Operands operands{graph, graph.node(node)};
  DOVETAIL_ASSIGN(const OpDef* def, require_known(operands));
  return def->define(operands);
}

}  // namespace dovetail::ops

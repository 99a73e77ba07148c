#include "compiler/passes/evaluate_node.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "loops/interpreter.h"
#include "loops/rewrite.h"

namespace dovetail::passes {
namespace {

NdArray evaluate_shape(const graph::Node& node, const Shape& shape) {
  if (node.op == "Size") return NdArray::scalar(element_count(shape));
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](std::string_view name, std::int64_t fallback) {
    const std::int64_t value = graph::int_attribute(node, name, fallback);
    return std::clamp(value < 0 ? value + rank : value, std::int64_t{0}, rank);
  };
  const std::int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return NdArray::from<std::int64_t>({end - start}, {shape.begin() + start, shape.begin() + end});
}

double steps_of(const loops::Stmt& stmt);

double steps_of(const loops::Expr& expression) {
  double steps = 0;
  loops::visit_exprs(expression, [&](const loops::Expr&) { ++steps; });
  return steps;
}

struct Steps {
  double operator()(const loops::For& loop) const { return static_cast<double>(loop.extent) * steps_of(loop.body); }
  double operator()(const loops::If& branch) const {
    return steps_of(branch.condition) + steps_of(branch.then_body) + steps_of(branch.else_body);
  }
  double operator()(const loops::Sequence& sequence) const {
    double steps = 0;
    for (const loops::Stmt& stmt : sequence.body) steps += steps_of(stmt);
    return steps;
  }
  double operator()(const loops::Block& block) const { return steps_of(block.init) + steps_of(block.body); }
  double operator()(const loops::Store& store) const {
    double steps = 0;
    for (const loops::StoreTarget& target : store.targets) {
      steps += steps_of(target.value);
      for (const loops::Expr& index : target.indices) steps += steps_of(index);
    }
    return steps;
  }
  double operator()(const loops::IntrinsicCall&) const { return 1; }
};

double steps_of(const loops::Stmt& stmt) { return stmt ? std::visit(Steps{}, stmt->node) : 0; }

}  // namespace

double evaluation_steps(const loops::Program& program) { return steps_of(program.body); }

double evaluation_steps(const graph::Graph& graph, graph::NodeId id) {
  if (needs_types_only(graph.node(id))) return 0;
  const auto program = ops::define(graph, id);
  return program ? evaluation_steps(*program) : 0;
}

Evaluate interpreter_evaluate() {
  return
      [](const loops::Program& program, std::span<const NdArray> inputs) { return loops::evaluate(program, inputs); };
}

std::vector<std::size_t> operand_positions(const loops::Program& program) {
  std::vector<std::size_t> positions;
  for (const loops::Parameter& parameter : program.parameters) {
    if (parameter.role == loops::ParameterRole::output) continue;
    const std::string_view name = parameter.buffer->name;
    std::size_t position = 0;
    const auto [end, error] =
        std::from_chars(name.data() + std::min<std::size_t>(2, name.size()), name.data() + name.size(), position);
    DOVETAIL_CHECK(name.starts_with("in") && error == std::errc{} && end == name.data() + name.size(),
                   fmt::format("parameter {} of program {} is not named in<position>", name, program.name));
    positions.push_back(position);
  }
  return positions;
}

bool needs_types_only(const graph::Node& node) {
  return (node.op == "Shape" || node.op == "Size") && node.inputs.size() == 1 && node.inputs[0].valid();
}

Result<std::vector<NdArray>> evaluate_node(const graph::Graph& graph, graph::NodeId id, const Evaluate& evaluate) {
  const graph::Node& node = graph.node(id);
  if (needs_types_only(node)) return std::vector<NdArray>{evaluate_shape(node, graph.value(node.inputs[0]).type.shape)};
  if (const ops::OpDef* def = ops::find(node.op); def != nullptr && def->evaluate != nullptr)
    return def->evaluate({graph, node});
  DOVETAIL_ASSIGN(const loops::Program program, ops::define(graph, id));
  std::vector<NdArray> arguments;
  for (std::size_t position : operand_positions(program)) {
    DOVETAIL_CHECK(
        position < node.inputs.size() && node.inputs[position].valid(),
        fmt::format("the program of {} reads operand {}, which the node does not have", node.name, position));
    const graph::Value& operand = graph.value(node.inputs[position]);
    if (!operand.constant)
      return Diagnostic{fmt::format("cannot evaluate {} ({})", node.name, node.op), node.name,
                        fmt::format("input {} (%{}) is not a constant", position, operand.name),
                        "only nodes with constant inputs can be evaluated at compile time"};
    arguments.push_back(*operand.constant);
  }
  auto values = evaluate(program, arguments);
  if (values.ok()) return values;
  // The program's operands are named in0, in1, ...
  std::string operands;
  for (std::size_t position : operand_positions(program))
    operands +=
        fmt::format("{}in{} is {}", operands.empty() ? "" : ", ", position, graph.value(node.inputs[position]).name);
  Diagnostics problems = values.errors();
  for (Diagnostic& problem : problems) {
    problem.where = fmt::format("{} ({}){}{}", node.name, node.op, problem.where.empty() ? "" : ", ", problem.where);
    if (problem.cause == Cause::input) problem.why += fmt::format(" ({})", operands);
  }
  return problems;
}

void replace_by_constants(graph::Graph& graph, graph::NodeId id, std::vector<NdArray> values) {
  const std::vector<graph::ValueId> outputs = graph.node(id).outputs;
  DOVETAIL_CHECK(outputs.size() == values.size(), fmt::format("{} has {} outputs, but {} values were computed",
                                                              graph.node(id).name, outputs.size(), values.size()));
  graph.remove_node(id);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    graph::Value& value = graph.value(outputs[i]);
    value.type = {values[i].dtype(), values[i].shape()};
    value.constant = frozen(std::move(values[i]));
  }
}

}  // namespace dovetail::passes

#include "compiler/ops/control_flow.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "compiler/ops/list.h"

namespace dovetail::ops {
namespace {

using graph::Graph;
using graph::TensorType;

constexpr const char* kModelHint = "the node and its subgraphs must agree in number and types of values";

bool is_one_of(const TensorType& type, DType dtype) { return type.dtype == dtype && element_count(type.shape) == 1; }

const TensorType& input_type(const Graph& subgraph, std::size_t i) { return subgraph.value(subgraph.inputs[i]).type; }
const TensorType& output_type(const Graph& subgraph, std::size_t i) { return subgraph.value(subgraph.outputs[i]).type; }

Result<void> check_subgraphs(const Operands& operands, std::size_t count) {
  const auto& subgraphs = operands.node.subgraphs;
  if (subgraphs.size() != count || std::ranges::count(subgraphs, nullptr) > 0)
    return refuse(operands, fmt::format("the node has {} subgraphs, expected {}", subgraphs.size(), count), kModelHint);
  for (const auto& subgraph : subgraphs)
    if (!subgraph->extents.empty())
      return refuse(operands,
                    fmt::format("the number of elements of an output of subgraph {} depends on data", subgraph->name),
                    "only outputs of the whole graph may have such a number");
  return {};
}

// Checks that the operands from `first` on match the subgraph's inputs from `input` on.
Result<void> check_operands(const Operands& operands, std::size_t first, const Graph& subgraph, std::size_t input) {
  for (std::size_t i = input; i < subgraph.inputs.size(); ++i) {
    const std::size_t position = first + i - input;
    if (!operands.has(position))
      return refuse(operands, fmt::format("operand {} of subgraph {} is missing", position, subgraph.name), kModelHint);
    if (operands.type(position) != input_type(subgraph, i))
      return refuse(operands,
                    fmt::format("operand {} is {}, but subgraph {} expects {}", position,
                                to_string(operands.type(position)), subgraph.name, to_string(input_type(subgraph, i))),
                    kModelHint);
  }
  return {};
}

// ---- If

Result<Types> infer_if(const Operands& operands) {
  DOVETAIL_TRY(check_subgraphs(operands, 2));
  const Graph &chosen = *operands.node.subgraphs[0], &other = *operands.node.subgraphs[1];
  const std::size_t count = operands.node.outputs.size();
  if (!is_one_of(operands.type(0), DType::boolean))
    return refuse(operands, fmt::format("the condition is {}", to_string(operands.type(0))),
                  "the condition must be one bool");
  if (operands.count() != 1 + chosen.inputs.size() + other.inputs.size())
    return refuse(operands,
                  fmt::format("the node has {} operands, but its subgraphs expect {} and {}", operands.count() - 1,
                              chosen.inputs.size(), other.inputs.size()),
                  kModelHint);
  DOVETAIL_TRY(check_operands(operands, 1, chosen, 0));
  DOVETAIL_TRY(check_operands(operands, 1 + chosen.inputs.size(), other, 0));
  if (chosen.outputs.size() != count || other.outputs.size() != count)
    return refuse(operands,
                  fmt::format("the node has {} outputs, but its subgraphs return {} and {}", count,
                              chosen.outputs.size(), other.outputs.size()),
                  kModelHint);
  Types types;
  for (std::size_t i = 0; i < count; ++i) {
    if (output_type(chosen, i) != output_type(other, i))
      return refuse(operands,
                    fmt::format("output {} is {} in one branch and {} in the other", i,
                                to_string(output_type(chosen, i)), to_string(output_type(other, i))),
                    "export both branches with results of one type and shape: pad the smaller one");
    types.push_back(output_type(chosen, i));
  }
  return types;
}

// ---- Loop

Result<Types> infer_loop(const Operands& operands) {
  DOVETAIL_TRY(check_subgraphs(operands, 1));
  const Graph& body = *operands.node.subgraphs[0];
  const std::int64_t carried_attribute = graph::int_attribute(operands.node, "carried", 0),
                     limit = graph::int_attribute(operands.node, "limit", 0);
  if (limit < 0 || limit > kMostIterations)
    return refuse(operands, fmt::format("the limit is {} iterations, but must be from 0 to {}", limit, kMostIterations),
                  "give fewer iterations");
  if (operands.has(0) && !is_one_of(operands.type(0), DType::int64))
    return refuse(operands, fmt::format("the trip count is {}", to_string(operands.type(0))),
                  "the trip count must be one int64");
  if (operands.has(1) && !is_one_of(operands.type(1), DType::boolean))
    return refuse(operands, fmt::format("the condition is {}", to_string(operands.type(1))),
                  "the condition must be one bool");
  if (carried_attribute < 0 || static_cast<std::size_t>(carried_attribute) + 1 > body.inputs.size() ||
      static_cast<std::size_t>(carried_attribute) + 1 > body.outputs.size())
    return refuse(operands,
                  fmt::format("the loop carries {} values, but its body has {} inputs and {} outputs",
                              carried_attribute, body.inputs.size(), body.outputs.size()),
                  "the body's first input must be the iteration, its first output the condition");
  const auto carried = static_cast<std::size_t>(carried_attribute);
  const std::size_t scanned = body.outputs.size() - 1 - carried;
  if (operands.count() > LoopParts::kOwnOperands + body.inputs.size() - 1)
    return refuse(
        operands,
        fmt::format("the loop has {} operands, but its body expects {}", operands.count(), body.inputs.size() - 1),
        kModelHint);
  if (input_type(body, 0) != TensorType{DType::int64, {}})
    return refuse(operands, fmt::format("the body expects the iteration number as {}", to_string(input_type(body, 0))),
                  "the iteration number must be int64[]");
  DOVETAIL_TRY(check_operands(operands, LoopParts::kOwnOperands, body, 1));
  if (!is_one_of(output_type(body, 0), DType::boolean))
    return refuse(operands, fmt::format("the body returns the condition as {}", to_string(output_type(body, 0))),
                  "the condition must be one bool");
  Types types;
  for (std::size_t i = 1; i <= carried; ++i) {
    if (output_type(body, i) != input_type(body, i))
      return refuse(operands,
                    fmt::format("carried value {} is {} before an iteration and {} after it", i - 1,
                                to_string(input_type(body, i)), to_string(output_type(body, i))),
                    "the type and shape must stay the same: write into a tensor of the largest size");
    types.push_back(input_type(body, i));
  }
  for (std::size_t i = carried + 1; i < body.outputs.size(); ++i) {
    TensorType type = output_type(body, i);
    type.shape.insert(type.shape.begin(), limit);
    types.push_back(std::move(type));
  }
  if (scanned > 0) types.push_back({DType::int64, {1}});
  if (types.size() != operands.node.outputs.size())
    return refuse(
        operands,
        fmt::format("the loop has {} outputs, but its body returns {}", operands.node.outputs.size(), types.size()),
        kModelHint);
  return types;
}

Result<loops::Program> no_loop_program(const Operands& operands) {
  return refuse(operands, "the node selects what runs, which a loop program cannot do",
                "run the node as a separate step; targets compile the nodes of its subgraphs");
}

std::vector<NdArray> evaluated_loop_outputs(const Graph& graph, const graph::Node& node, const LoopParts& parts,
                                            std::vector<NdArray> carried,
                                            const std::vector<std::vector<NdArray>>& rows) {
  std::vector<NdArray> outputs = std::move(carried);
  for (std::size_t k = 0; k < parts.scanned; ++k) {
    const TensorType& type = graph.value(node.outputs[parts.carried + k]).type;
    NdArray stacked(type.dtype, type.shape);  // zeros
    std::byte* to = stacked.bytes().data();
    for (const std::vector<NdArray>& row : rows) {
      const auto slice = row[k].bytes();
      if (!slice.empty()) std::memcpy(to, slice.data(), slice.size());
      to += slice.size();
    }
    outputs.push_back(std::move(stacked));
  }
  if (parts.scanned > 0) outputs.push_back(NdArray::from<std::int64_t>({1}, {static_cast<std::int64_t>(rows.size())}));
  return outputs;
}

}  // namespace

LoopParts loop_parts(const graph::Node& node) {
  const auto carried = static_cast<std::size_t>(graph::int_attribute(node, "carried", 0));
  return {carried, node.subgraphs.at(0)->outputs.size() - 1 - carried, graph::int_attribute(node, "limit", 0)};
}

std::optional<SubgraphInput> subgraph_input(const graph::Node& node, std::size_t operand) {
  if (node.op == kIf && operand >= 1) {
    const std::size_t first = node.subgraphs[0]->inputs.size();
    if (operand - 1 < first) return SubgraphInput{0, operand - 1};
    return SubgraphInput{1, operand - 1 - first};
  }
  if (node.op == kLoop && operand >= LoopParts::kOwnOperands)
    return SubgraphInput{0, operand - LoopParts::kOwnOperands + 1};
  return std::nullopt;
}

bool is_captured(const graph::Node& node, std::size_t operand) {
  const auto input = subgraph_input(node, operand);
  return input && (node.op == kIf || input->input > loop_parts(node).carried);
}

Diagnostic over_limit(std::string_view node, std::int64_t limit) {
  return {"the loop does not end", std::string(node),
          fmt::format("the condition is still true after {} iterations, the limit", limit),
          "compile the model with a higher --loop-limit, or fix what the condition depends on"};
}

Result<std::vector<NdArray>> evaluate_control_flow(const Graph& graph, const graph::Node& node,
                                                   std::span<const NdArray* const> operands, const RunSubgraph& run) {
  const auto copies = [&](std::size_t first, std::size_t count) {
    std::vector<NdArray> arrays;
    for (std::size_t i = first; i < first + count; ++i) arrays.push_back(*operands[i]);
    return arrays;
  };
  if (node.op == kIf) {
    const std::size_t of_then = node.subgraphs[0]->inputs.size(), of_else = node.subgraphs[1]->inputs.size();
    const bool holds = operands[0]->as_int64(0) != 0;
    return run(holds ? 0 : 1, holds ? copies(1, of_then) : copies(1 + of_then, of_else));
  }
  const LoopParts parts = loop_parts(node);
  std::vector<NdArray> carried = copies(LoopParts::kOwnOperands, parts.carried);
  const std::vector<NdArray> captured =
      copies(LoopParts::kOwnOperands + parts.carried, operands.size() - LoopParts::kOwnOperands - parts.carried);
  bool keep_going = operands[1] == nullptr || operands[1]->as_int64(0) != 0;
  const std::int64_t trips = operands[0] == nullptr ? INT64_MAX : operands[0]->as_int64(0);
  std::vector<std::vector<NdArray>> rows;  // scanned values of each iteration
  for (std::int64_t i = 0; keep_going && i < trips; ++i) {
    if (i == parts.limit) return over_limit(node.name, parts.limit);
    std::vector<NdArray> inputs{NdArray::scalar(i)};
    std::ranges::move(carried, std::back_inserter(inputs));
    std::ranges::copy(captured, std::back_inserter(inputs));
    DOVETAIL_ASSIGN(std::vector<NdArray> outputs, run(0, std::move(inputs)));
    keep_going = outputs.front().as_int64(0) != 0;
    const auto scanned = outputs.begin() + 1 + static_cast<std::ptrdiff_t>(parts.carried);
    carried.assign(std::make_move_iterator(outputs.begin() + 1), std::make_move_iterator(scanned));
    rows.emplace_back(std::make_move_iterator(scanned), std::make_move_iterator(outputs.end()));
    if (parts.scanned == 0) rows.clear();
  }
  return evaluated_loop_outputs(graph, node, parts, std::move(carried), rows);
}

std::vector<OpDef> control_flow_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {{.op = kIf,
           .category = Category::opaque,
           .infer = infer_if,
           .define = no_loop_program,
           .signature = {{{"condition", kBool}, {"operands", kAny, 0, Presence::any_number}}, {}, -1}},
          {.op = kLoop,
           .category = Category::opaque,
           .infer = infer_loop,
           .define = no_loop_program,
           .signature = {{{"trips", kInt64, 0, Presence::optional},
                          {"condition", kBool, 0, Presence::optional},
                          {"operands", kAny, 0, Presence::any_number}},
                         {{"carried", integer, Presence::required}, {"limit", integer, Presence::required}},
                         -1}}};
}

}  // namespace dovetail::ops

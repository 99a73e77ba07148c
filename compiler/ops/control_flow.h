// dovetail.if and dovetail.loop: nodes that run subgraphs when values say so. What they mean, whoever runs the
// subgraphs.
//
//   dovetail.if(condition, operands of then..., operands of else...)            subgraphs then, else
//     The outputs are those of the subgraph that the condition chooses; both yield the same types.
//   dovetail.loop(trips or _, condition or _, carried..., captured...) {carried, limit}        subgraph body
//     body(iteration, carried..., captured...) -> (goes on, carried..., scanned...). It runs while fewer than `trips`
//     iterations are done (omitted: any number) and the condition holds, that of the operand before the first iteration
//     (omitted: it holds), the body's own after each. Outputs: carried values as the last iteration left them; scanned
//     ones of all iterations, stacked along a new first axis of extent `limit`, zeros after the last; where there is a
//     scanned one also the number of iterations, int64[1]. An iteration more than `limit` is the program's error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/ops/op.h"

namespace dovetail::ops {

inline constexpr std::string_view kIf = "dovetail.if", kLoop = "dovetail.loop";
// Iterations that a loop may be limited to; a scanned output has as many slices.
inline constexpr std::int64_t kMostIterations = 1'000'000;

// How a loop's operands and outputs are divided. Precondition: infer succeeded.
struct LoopParts {
  std::size_t carried = 0, scanned = 0;
  std::int64_t limit = 0;
  static constexpr std::size_t kOwnOperands = 2;  // trips and condition
};
LoopParts loop_parts(const graph::Node& node);

// What the operand at that position is an input of: which subgraph, and where among its inputs. Nothing for those that
// decide what runs.
struct SubgraphInput {
  std::size_t subgraph, input;
};
std::optional<SubgraphInput> subgraph_input(const graph::Node& node, std::size_t operand);
// Whether the subgraph's input may become a constant or go: a value that is captured.
bool is_captured(const graph::Node& node, std::size_t operand);

// A loop that has come to its limit, and would go on.
Diagnostic over_limit(std::string_view node, std::int64_t limit);

// The node's outputs, by a function that runs its subgraphs. `operands`: null where omitted.
using RunSubgraph = std::function<Result<std::vector<NdArray>>(std::size_t subgraph, std::vector<NdArray> inputs)>;
Result<std::vector<NdArray>> evaluate_control_flow(const graph::Graph& graph, const graph::Node& node,
                                                   std::span<const NdArray* const> operands, const RunSubgraph& run);

}  // namespace dovetail::ops

// dovetail.if and dovetail.loop: nodes that run subgraphs depending on data. Their semantics, for every executor of the
// subgraphs.
//
//   dovetail.if(condition, operands of then..., operands of else...)            subgraphs then, else
//     The outputs are those of the subgraph selected by the condition; both yield the same types.
//   dovetail.loop(trips or _, condition or _, carried..., captured...) {carried, limit}        subgraph body
//     body(iteration, carried..., captured...) -> (continue, carried..., scanned...). The body runs while fewer than
//     `trips` iterations are done (omitted: no limit) and the condition is true: before the first iteration that of the
//     operand (omitted: true), after each iteration the one that the body returned. Outputs: carried values after the
//     last iteration; scanned values of all iterations, stacked along a new first axis of extent `limit`, with zeros
//     after the last iteration; if there are scanned values, also the number of iterations, int64[1]. More than `limit`
//     iterations are an error of the program.
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
// Upper bound for the iteration limit of a loop; a scanned output has that many slices.
inline constexpr std::int64_t kMostIterations = 1'000'000;

// How the operands and outputs of a loop are divided. Precondition: infer succeeded.
struct LoopParts {
  std::size_t carried = 0, scanned = 0;
  std::int64_t limit = 0;
  static constexpr std::size_t kOwnOperands = 2;  // trips and condition
};
LoopParts loop_parts(const graph::Node& node);

// The subgraph and its input that the operand at that position is passed to. Nothing for operands that decide what
// runs.
struct SubgraphInput {
  std::size_t subgraph, input;
};
std::optional<SubgraphInput> subgraph_input(const graph::Node& node, std::size_t operand);
// Whether the operand is a captured value: such an input of a subgraph may become a constant or be removed.
bool is_captured(const graph::Node& node, std::size_t operand);

// The error of a loop that reached its limit and would continue.
Diagnostic over_limit(std::string_view node, std::int64_t limit);

// The node's outputs, computed with a function that runs its subgraphs. `operands`: null if omitted.
using RunSubgraph = std::function<Result<std::vector<NdArray>>(std::size_t subgraph, std::vector<NdArray> inputs)>;
Result<std::vector<NdArray>> evaluate_control_flow(const graph::Graph& graph, const graph::Node& node,
                                                   std::span<const NdArray* const> operands, const RunSubgraph& run);

}  // namespace dovetail::ops

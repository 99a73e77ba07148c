// Nodes of control flow and what their subgraphs capture: constants become the subgraphs' own, so that they are folded
// there and are weights to their nodes; what a subgraph does not read is no operand any more.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> sink_into_subgraphs(graph::Graph& graph, const PassContext& context);

}  // namespace dovetail::passes

// Removes nodes none of whose outputs reaches a graph output, and values that nothing uses.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> eliminate_dead_nodes(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

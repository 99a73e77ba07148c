// A model as MLIR on tensors (docs/howto/mlir.md).
#pragma once

#include <string>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::driver {

// Precondition: the graph verifies, with static shapes. Error: operators without a form on tensors, all of them at
// once.
Result<std::string> graph_to_mlir(const graph::Graph& graph);

}  // namespace dovetail::driver

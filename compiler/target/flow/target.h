// Nodes with subgraphs (compiler/ops/control_flow.h) as steps that run programs (bundle/code/flow.h). Not selectable by
// the user: such nodes always run here, and their subgraphs are compiled for the user's targets.
#pragma once

#include <functional>

#include "compiler/target/target.h"

namespace dovetail::flow {

// The program of a node's subgraph, compiled before code is generated.
using FindProgram = std::function<const bundle::Bundle&(graph::NodeId node, std::size_t subgraph)>;
// `programs` is called when code is generated.
TargetPointer make_target(FindProgram programs);

}  // namespace dovetail::flow

// Nodes that hold subgraphs (compiler/ops/control_flow.h) as steps that run programs (bundle/code/flow.h). It is no
// target of the user's list: such a node runs here whatever the list says, and what it runs is compiled for the list.
#pragma once

#include <functional>

#include "compiler/target/target.h"

namespace dovetail::flow {

// The program of a node's subgraph, made before code is generated.
using FindProgram = std::function<const bundle::Bundle&(graph::NodeId node, std::size_t subgraph)>;
// `programs` is asked when code is generated.
TargetPointer make_target(FindProgram programs);

}  // namespace dovetail::flow

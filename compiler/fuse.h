// Fusion groups: nodes that become one kernel. A group begins with any node; elementwise nodes behind it join while their input is needed by
// nobody else. Shared by all targets that run loop programs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "loops/ir.h"

namespace dovetail {

struct FusedGroup {
  std::vector<graph::NodeId> nodes;         // in execution order; the first is the anchor, each other one reads the result of the one before
  loops::Program program;                   // the nodes' naive programs in one; blocks of the anchor keep their names, others begin with "e<i>."
  std::vector<graph::ValueId> arguments;    // the program's inputs and constants, named in0, in1, ... (one may occur only once)
  std::vector<const NdArray*> constants;    // by argument; null where it is none. They live in the graph
  std::vector<graph::ValueId> results;      // its outputs, named out0, ...
};

// Groups of `nodes` (in topological order) in an order in which they can run. With `fuse` false every node is alone.
// Errors: a node without a definition.
Result<std::vector<FusedGroup>> fuse_groups(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes, bool fuse = true);

}  // namespace dovetail

// Fusion groups: nodes that become one kernel, by the traits of their operators (compiler/ops/op.h) and a cost rule.
// Shared by all targets that run loop programs.
//
//   after    elementwise nodes join what they read while nobody else needs it: convolution, bias, residual sum and
//             activation are one kernel; so do nodes that rearrange elements (Transpose, Slice) after elementwise
//             nodes. Nodes after an opaque one join where the last block of its program is elementwise
//
//   in front  a chain of elementwise nodes that one node of a group alone reads at the same place joins it: both sides
//             of a sum are one kernel. Cheap ones also join before reductions, and where few results are
//             broadcast
//
//   again     one or two cheap elementwise nodes whose readers all are elementwise are computed again by each of them,
//             which costs less than writing and reading the result
//
// No kernel has more than 64 nodes, and a node with more than 64 results that do not need each other becomes several
// kernels. Every value that leaves a kernel for another one has its reason in `unfused`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "loops/ir.h"

namespace dovetail {

struct FusedGroup {
  std::vector<graph::NodeId> nodes;  // in execution order; the last one's outputs are the results
  graph::NodeId anchor;  // the convolution, reduction, ... that the schedule is made for; the first node where all are
                         // elementwise
  loops::Program
      program;  // the nodes' naive programs in one; blocks of the anchor keep their names, others begin with "e<i>."
  std::vector<graph::ValueId>
      arguments;  // the program's inputs and constants, named in0, in1, ... (one may occur only once)
  std::vector<const NdArray*> constants;  // by argument; null where it is none. They live in the graph
  std::vector<graph::ValueId> results;    // its outputs, named out0, ...
  std::vector<std::string>
      unfused;  // "conv1 -> relu3 not fused: the result has 2 readers": why the results are written
};

// Groups of `nodes` (in topological order) in an order in which they can run. With `fuse` false every node is alone.
// Errors: a node without a definition.
Result<std::vector<FusedGroup>> fuse_groups(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
                                            bool fuse = true);

}  // namespace dovetail

// Fusion groups: nodes that become one kernel, chosen by the traits of their operators (compiler/ops/op.h) and a cost
// rule. Shared by all targets that run loop programs.
//
//   after     elementwise nodes join the producer of their operand if it has no other reader: convolution, bias,
//             residual sum and activation are one kernel; so do nodes that rearrange elements (Transpose, Slice) after
//             elementwise nodes. Nodes after an opaque one join if the last block of its program is elementwise
//
//   before    a chain of elementwise nodes read by only one node of a group, at the same position, joins it: both sides
//             of a sum are one kernel. Cheap ones also join before reductions, and if few results are
//             broadcast
//
//   again     one or two cheap elementwise nodes whose readers all are elementwise are recomputed by each of them,
//             which costs less than writing and reading the result
//
// No kernel has more than 64 nodes, and a node with more than 64 independent results becomes several kernels. For every
// value that one kernel passes to another, `unfused` contains the reason.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "loops/ir.h"

namespace dovetail {

struct FusedGroup {
  std::vector<graph::NodeId> nodes;  // in execution order; the last one's outputs are the results
  graph::NodeId anchor;  // the convolution, reduction, ... that determines the schedule; the first node if all are
                         // elementwise
  loops::Program
      program;  // the nodes' naive programs, combined; blocks of the anchor keep their names, others begin with "e<i>."
  std::vector<graph::ValueId> arguments;  // the program's inputs and constants, named in0, in1, ... (a value occurs
                                          // twice only if it is needed in two layouts)
  std::vector<const NdArray*> constants;  // by argument; null if it is not constant. Owned by the graph
  std::vector<graph::ValueId> results;    // its outputs, named out0, ...
  std::vector<std::string>
      unfused;  // "conv1 -> relu3 not fused: the result has 2 readers": the reasons why results are written
};

// Groups of `nodes` (in topological order) in a possible execution order. If `fuse` is false every node is alone.
// Errors: a node without a definition.
Result<std::vector<FusedGroup>> fuse_groups(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
                                            bool fuse = true);

}  // namespace dovetail

// Evaluates a node whose operands are known, for constant folding and for the reference.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/pass.h"

namespace dovetail::passes {

// For each input and constant parameter of an operator's program, in order, the position of the corresponding operand
// of the node: buffers are named "in<position>" (compiler/ops/op.h).
std::vector<std::size_t> operand_positions(const loops::Program& program);

// The outputs of a node whose inputs are all constant. Shape and Size need only their input's type.
// Error: an input is not constant, the operator has no definition, or its evaluation fails.
Result<std::vector<NdArray>> evaluate_node(const graph::Graph& graph, graph::NodeId node, const Evaluate& evaluate);

// The maximum number of expressions that a run of the program evaluates, which measures the time of an interpreter. A
// double, since it may exceed 2^63.
double evaluation_steps(const loops::Program& program);
// The same for a node; 0 for Shape and Size, and for an operator without a definition.
double evaluation_steps(const graph::Graph& graph, graph::NodeId node);

// True for Shape and Size, which are constant for any value of their input.
bool needs_types_only(const graph::Node& node);

// Turns the node's outputs into constants with these values and removes the node.
void replace_by_constants(graph::Graph& graph, graph::NodeId node, std::vector<NdArray> values);

}  // namespace dovetail::passes

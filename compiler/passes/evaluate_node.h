// The value of a node whose operands are known: what constant folding and the reference share.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/passes/pass.h"

namespace dovetail::passes {

// For each input and constant parameter of an operator's program, in order, the position of the node's operand that it
// takes: buffers are named "in<position>" (compiler/ops/op.h).
std::vector<std::size_t> operand_positions(const loops::Program& program);

// Outputs of a node all of whose inputs are constants. Shape and Size need only their input's type.
// Error: an input is not constant, the operator has no definition, or its evaluation fails.
Result<std::vector<NdArray>> evaluate_node(const graph::Graph& graph, graph::NodeId node, const Evaluate& evaluate);

// Expressions that one run of the program evaluates, at most: what its evaluation takes of an interpreter's time. Not
// exact integers: they may exceed 2^63.
double evaluation_steps(const loops::Program& program);
// The same of a node; 0 for Shape and Size, and where the operator has no definition.
double evaluation_steps(const graph::Graph& graph, graph::NodeId node);

// True for Shape and Size: constants whatever their input's value.
bool needs_types_only(const graph::Node& node);

// Turns the node's outputs into constants with these values and removes the node.
void replace_by_constants(graph::Graph& graph, graph::NodeId node, std::vector<NdArray> values);

}  // namespace dovetail::passes

// ONNX's QOperator forms (QLinearConv, QLinearMatMul) as DequantizeLinear, float operator, QuantizeLinear: one quantised form for all passes. The
// integer form of the two is the same (docs/quantisation.md).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::import {

bool is_qoperator(std::string_view op);

// Returns the nodes that now stand for it, in execution order; the float operator keeps the node's name and attributes.
// Preconditions: is_qoperator(node's op); the types of the inputs are known.
Result<std::vector<graph::NodeId>> expand_qoperator(graph::Graph& graph, graph::NodeId node);

}  // namespace dovetail::import

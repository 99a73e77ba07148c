// Operators that take scales as inputs, written with ONNX's own: QOperator forms (QLinearConv,
// com.microsoft.QLinearAdd, ...) as DequantizeLinear, float operator, QuantizeLinear, so that all passes know one
// quantized form; com.microsoft's dynamic products as exact integer products with a float scale.
// docs/reference/import.md.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::import {

bool is_qoperator(std::string_view op);
std::vector<std::string_view> qoperators();  // all of them, sorted

// Returns the nodes that now represent it, in execution order; the float operator keeps the node's name and attributes.
// Preconditions: is_qoperator(node's op); the types of the inputs are known.
Result<std::vector<graph::NodeId>> expand_qoperator(graph::Graph& graph, graph::NodeId node);

}  // namespace dovetail::import

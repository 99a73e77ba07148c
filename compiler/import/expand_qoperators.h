// Operators that take scales as inputs, expanded into ONNX's: QOperator forms (QLinearConv, com.microsoft.QLinearAdd,
// ...) become DequantizeLinear, float operator, QuantizeLinear, so that all passes see one quantized form;
// com.microsoft's dynamic products become exact integer products with a float scale. docs/reference/import.md.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::import {

bool is_qoperator(std::string_view op);
std::vector<std::string_view> qoperators();  // all of them, sorted

// Returns the nodes that now represent the operator, in execution order; the float operator keeps the node's name and
// attributes. Preconditions: is_qoperator(node's op); the types of the inputs are known.
Result<std::vector<graph::NodeId>> expand_qoperator(graph::Graph& graph, graph::NodeId node);

}  // namespace dovetail::import

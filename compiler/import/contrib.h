// Operators that ONNX Runtime contributes beside the standard (domain com.microsoft), as its optimizer and exporters
// write them: each written out, by its published definition
// (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md), in operators that are known here.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/import/rewrite.h"

namespace dovetail::import {

bool is_contrib(std::string_view op);
std::vector<std::string_view> contrib_operators();  // all of them, sorted
// Positions of inputs on whose values the rules depend; where they can be known, they are constants before.
std::span<const std::size_t> inputs_of_contrib(std::string_view op);

// Returns the nodes that now represent it, in execution order. Preconditions: is_contrib(node's op); the types of the
// inputs are known.
Result<std::vector<graph::NodeId>> expand_contrib(graph::Graph& graph, graph::NodeId node, std::int64_t opset);

}  // namespace dovetail::import

// Operators of other domains than ONNX's: those that ONNX Runtime contributes (com.microsoft), as its optimizer and
// exporters write them (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md), and those of
// classical machine learning (ai.onnx.ml). Each is expanded, by its published definition, into operators that
// compiler/ops knows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/import/rewrite.h"

namespace dovetail::import {

bool is_domain_operator(std::string_view op);
std::vector<std::string_view> domain_operators();  // all of them, sorted
// Positions of inputs whose values the rules depend on; where they can be known, they are made constants first.
std::span<const std::size_t> inputs_of_domain_operator(std::string_view op);

// Returns the nodes that now represent the operator, in execution order; `notes` gets what the caller should know about
// the results. Preconditions: is_domain_operator(node's op); the types of the inputs are known.
Result<std::vector<graph::NodeId>> expand_domain_operator(graph::Graph& graph, graph::NodeId node, std::int64_t opset,
                                                          std::vector<std::string>& notes);

}  // namespace dovetail::import

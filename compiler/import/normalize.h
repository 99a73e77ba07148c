// Older forms of ONNX operators, rewritten to the newest, so that compiler/ops knows one form of each.
// docs/reference/import.md lists the rules.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::import {

// True for operators that later opsets removed: normalize() replaces them, compiler/ops has no row for them.
bool is_normalized_away(std::string_view op);

// Positions of inputs whose values the rules depend on; where they can be known, they are made constants first.
std::span<const std::size_t> inputs_of_rules(std::string_view op);

// Rewrites the node from the form of `opset`. Returns the nodes that now represent it, in execution order; their
// outputs have no types yet. Precondition: the types of the node's inputs are known (some rules need the rank).
Result<std::vector<graph::NodeId>> normalize(graph::Graph& graph, graph::NodeId node, std::int64_t opset);

}  // namespace dovetail::import

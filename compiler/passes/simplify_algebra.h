// The rules of the pass simplify_algebra (list.h).
#pragma once

#include <span>
#include <string_view>

#include "compiler/passes/list.h"

namespace dovetail::passes {

struct AlgebraRule {
  std::string_view name;  // the rule: "x * 1 -> x"
  Level level;            // for floats
  bool (*apply)(graph::Graph& graph, graph::NodeId node,
                Level level);  // returns whether it changed the graph at this node
};
std::span<const AlgebraRule> algebra_rules();

// The rule that moves signs of a Concat's operands into the constant factors of the product that reads it.
bool turn_factors(graph::Graph& graph, graph::NodeId node);

}  // namespace dovetail::passes

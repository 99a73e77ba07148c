// Algebraic simplification by a table of rules. Each rule says from which level on it may be used, and so what it
// keeps:
//   exact     every value: NaN where there was one, infinities, and the sign of zeros but for those that a minimum or
//   maximum yields tolerant  values within a few roundings; the sign of zeros may change trading   what is true of
//   finite numbers alone: x * 0 is 0, x / c is x * (1 / c)
// Integers wrap, and for them every rule of the table is exact.
#pragma once

#include <span>
#include <string_view>

#include "compiler/passes/pass.h"

namespace dovetail::passes {

struct AlgebraRule {
  std::string_view name;                                                // what it does: "x * 1 -> x"
  Level level;                                                          // for floats
  bool (*apply)(graph::Graph& graph, graph::NodeId node, Level level);  // whether it changed something at that node
};
std::span<const AlgebraRule> algebra_rules();

Result<PassOutcome> simplify_algebra(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

// Hoists conditions out of the loops that they do not depend on.
//
//   for k in 3 { for c in 64 { if k + o < 5 && c < n { S } } }
//
// becomes
//
//   for k in 3 { if k + o < 5 { for c in 64 { if c < n { S } } } }
//
// Each term of a conjunction moves as far outward as possible; terms that load from a buffer stay. They move only out
// of serial, vectorized and unrolled loops.
#pragma once

#include <set>

#include "loops/core/core.h"

namespace dovetail::loops {

CoreProgram hoist_conditions(CoreProgram program);

// A condition split into two conjunctions: terms that load or use one of `vars`, and all others; null: no such terms.
struct PartedCondition {
  Expr inner, outer;
};
PartedCondition part_condition(const Expr& condition, const std::set<const VarNode*>& vars);

}  // namespace dovetail::loops

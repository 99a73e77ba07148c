// Conditions leave the loops that they do not depend on.
//
//   for k in 3 { for c in 64 { if k + o < 5 && c < n { S } } }
//
// becomes
//
//   for k in 3 { if k + o < 5 { for c in 64 { if c < n { S } } } }
//
// Of a conjunction each term goes as far out as it can; terms that load stay. Loops are those of one processor: serial,
// vectorized and unrolled ones.
#pragma once

#include <set>

#include "loops/core/core.h"

namespace dovetail::loops {

CoreProgram hoist_conditions(CoreProgram program);

// The conjunctions of the terms of a condition that load or use one of `vars`, and of the others; null where there are
// none.
struct PartedCondition {
  Expr inner, outer;
};
PartedCondition part_condition(const Expr& condition, const std::set<const VarNode*>& vars);

}  // namespace dovetail::loops

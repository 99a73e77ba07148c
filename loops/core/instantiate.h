// Copies of core-form statements, and the cost of a copy: shared by peeling and unrolling.
#pragma once

#include <cstdint>

#include "loops/core/core.h"
#include "loops/rewrite.h"

namespace dovetail::loops {

// A copy of `core` in which the variables of `vars` are replaced, and whose loops have new variables, added to
// `bounds`. Expressions in which a variable was replaced are simplified, and conditions decided by that are removed.
// Null if no statement remains.
Core instantiate(const Core& core, const VarMap& vars, Bounds& bounds);

// The number of stores in the code now, and after all unrolled loops are expanded.
std::int64_t statement_count(const Core& core);
std::int64_t unrolled_statement_count(const Core& core);
// The number of stores that one run executes, counting vector lanes as one; all conditions are assumed to hold.
std::int64_t statement_runs(const Core& core);

Bounds loop_bounds(const Core& core);  // bounds of the variables of all loops in it

}  // namespace dovetail::loops

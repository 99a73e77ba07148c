// Copies of statements of the core form, and what a copy costs: what peeling and unrolling share.
#pragma once

#include <cstdint>

#include "loops/core/core.h"
#include "loops/rewrite.h"

namespace dovetail::loops {

// A copy of `core` in which the variables of `vars` are replaced, and whose loops have variables of their own, added to
// `bounds`. Expressions in which a variable was replaced are simplified, conditions decided thereby are gone. Null
// where nothing is left to do.
Core instantiate(const Core& core, const VarMap& vars, Bounds& bounds);

// Stores in the code, and those that will be in it when all loops of kind unrolled are.
std::int64_t statement_count(const Core& core);
std::int64_t unrolled_statement_count(const Core& core);
// Stores that one run makes, in lanes one for all; where conditions hold.
std::int64_t statement_runs(const Core& core);

Bounds loop_bounds(const Core& core);  // of the variables of all loops in it

}  // namespace dovetail::loops

// Loops that run only the iterations in which something happens. The last pass before code is made.
//
//   for e in 400 { if begin[i] + e < begin[i + 1] { S } }
//
// becomes
//
//   for e in 400 to begin[i + 1] - begin[i] { if begin[i] + e < begin[i + 1] { S } }
//
// and a loop around `if c { ... }`, where c has no value of the loop's variable but loads from buffers, ends as soon as
// c is false: nothing changes c in the iterations after that. Every iteration that is left out would have done nothing,
// so programs keep their values, and conditions stay where they are. A sum over `select(c, e, 0)` counts as a
// condition.
//
// Trimmed are serial loops, whose bound is a linear inequality in the variable with a coefficient, the loops inside,
// and values that the loop does not change. A bound without loads is used only where it saves a share of a long loop.
#pragma once

#include "loops/core/core.h"

namespace dovetail::loops {

CoreProgram trim_loops(CoreProgram program);

}  // namespace dovetail::loops

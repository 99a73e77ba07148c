// Loops over a part of a buffer that data chooses count in the buffer.
//
//   for e in 400 { if begin[i] + e < begin[i + 1] { y[i] += values[begin[i] + e] } }
//
// becomes
//
//   if the part is in `values` {
//     for at in 400 from begin[i] to min(begin[i + 1], begin[i] + 400) { y[i] += values[at] }
//   } else { the loop as it was }
//
// so that neither the condition nor the index is checked in each iteration. A sum over `select(c, e, 0)` counts as a
// condition. Only loops around few statements, which are copied. For code generators; before trim_loops.
#pragma once

#include "loops/core/core.h"

namespace dovetail::loops {

CoreProgram rebase_loops(CoreProgram program);

}  // namespace dovetail::loops

// vectorize LOOP
//
//   for x in 8 { B: y[x] = a[x] + 1 }   ==>   for x in 8 vectorized { B: y[x] = a[x] + 1 }
//
// All iterations run in lock step, one lane each. Legal if
//  - iterations are independent, as for parallel; a private buffer has one element per lane,
//  - LOOP has at most kMostLanes iterations,
//  - below are only blocks of plain stores and unrolled loops; no other loop around or below is vectorized,
//  - every index moves with LOOP by a constant step (0: broadcast, 1: contiguous, else strided), except those of loads
//    that are themselves loaded data: each lane then loads from its own address. A predicate may mention LOOP: it masks
//    lanes.
#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_vectorize(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  return with_kind(program, step.arguments[0], "vectorize", intrinsics,
                   [](For& loop) { loop.kind = ForKind::vectorized; });
}

}  // namespace dovetail::schedule

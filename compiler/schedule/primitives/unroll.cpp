// unroll LOOP
//
//   for y in 4 { S(y) }   ==>   for y in 4 unrolled { S(y) }
//
// The back end writes the loop out in full; the order of iterations stays, so that any loop may be unrolled, including
// one of a reduction. Legal if it and the enclosing unrolled loops make no more copies than kMostCopies.
#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_unroll(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  return with_kind(program, step.arguments[0], "unroll", intrinsics, [](For& loop) { loop.kind = ForKind::unrolled; });
}

}  // namespace dovetail::schedule

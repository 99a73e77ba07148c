// vthread LOOP
//
//   for y in 2 { S(y) }   ==>   for y in 2 vthread { S(y) }
//
// The iterations are virtual threads: each has its own part of every private buffer, and the back end interleaves their
// statements, so that the memory transfers of one overlap the arithmetic of another. Legal if iterations are
// independent, as for parallel.
#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_vthread(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  return with_kind(program, step.arguments[0], "vthread", intrinsics, [](For& loop) { loop.kind = ForKind::vthread; });
}

}  // namespace dovetail::schedule

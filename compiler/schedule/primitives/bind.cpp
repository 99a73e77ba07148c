// bind LOOP AXIS
//
//   for y in 4 { S(y) }   ==>   for y in 4 thread(block.x) { S(y) }
//
// AXIS is block.x, block.y, block.z, thread.x, thread.y or thread.z. Each iteration becomes a block, or a thread of a
// block, of a kernel. Legal if the rules of thread_axes.h hold: iterations are independent, the axis is long enough,
// free in the nest and of one extent in the kernel, and block axes are the outermost loops.
#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_bind(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  return with_kind(program, step.arguments[0], "bind", intrinsics, [&](For& loop) {
    loop.kind = ForKind::thread;
    loop.thread_axis = step.arguments[1];
  });
}

}  // namespace dovetail::schedule

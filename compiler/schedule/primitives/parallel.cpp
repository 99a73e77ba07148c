// parallel LOOP
//
//   for y in 4 { S(y) }   ==>   for y in 4 parallel { S(y) }
//
// Iterations may run in any order and at once. Legal if
//  - no block below has a reduce or ordered iterator over LOOP,
//  - for each buffer written inside, different iterations access different elements; or the buffer is an allocation
//    that is used only inside LOOP and each iteration reads only what it wrote itself. Then it is private: the back end
//    gives each iteration a separate copy,
//  - no other loop around or below is parallel.
// Later steps keep this guarantee (loop_kinds.h).
#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_parallel(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  return with_kind(program, step.arguments[0], "parallel", intrinsics,
                   [](For& loop) { loop.kind = ForKind::parallel; });
}

}  // namespace dovetail::schedule

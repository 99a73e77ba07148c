// pipeline LOOP STAGES
//
//   for k in 8 { L: S[..] = x[k, ..]   C: y += S[..] }   ==>   for k in 8 pipelined @stages("2") { L: ..   C: .. }
//
// All statements of LOOP except the last one may run up to STAGES - 1 iterations ahead of it: their results are
// buffered STAGES times. Legal if
//  - LOOP holds a sequence, and has at least STAGES iterations; STAGES is 2 or more,
//  - the results of the statements before the last one are private to the iteration (dependence.h), and they read
//    nothing that the last one writes.
// The last statement stays in order: it may carry a reduction over LOOP.
#include <fmt/format.h>

#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_pipeline(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const std::int64_t stages, require_integer(step.arguments[1], 2, "the number of stages", "pipeline"));
  return with_kind(program, step.arguments[0], "pipeline", intrinsics, [&](For& loop) {
    loop.kind = ForKind::pipelined;
    loop.annotations[kStages] = std::to_string(stages);
  });
}

}  // namespace dovetail::schedule

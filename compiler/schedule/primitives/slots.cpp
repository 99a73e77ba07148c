// slots BUFFER COUNT
//
//   for y in 8 { L: S[..] = x[y, ..]   C: .. S[..] .. }   ==>   the same, L @slots("2")
//
// BUFFER gets COUNT slots (multiple buffering), used in rotation by iterations of the innermost loop around all its
// uses: the writer of one iteration may run before the readers of earlier iterations have ended. The order of the
// program stays. Legal if the buffer is private to the iteration (dependence.h). The back end finds the count at the
// first block that writes the buffer.
#include <fmt/format.h>

#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_slots(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const Buffer buffer, require_buffer(program, step.arguments[0], kSlots));
  DOVETAIL_ASSIGN(const std::int64_t count, require_integer(step.arguments[1], 1, "the number of slots", kSlots));
  if (auto conflict = broken_slots(program, buffer, intrinsics))
    return refuse(kSlots, buffer->name, std::move(conflict->why), std::move(conflict->hint));
  for (const Path& path : blocks_below(program.body)) {
    if (!writes(path.back(), buffer.get())) continue;
    Block block = *as_block(path.back());
    if (block.annotations.contains(kSlots) && block.writes.front().buffer != buffer) continue;
    block.annotations[kSlots] = std::to_string(count);
    Program result = program;
    result.body = replace(program.body, path.back(), make_stmt(std::move(block)));
    return result;
  }
  return refuse(kSlots, buffer->name, "no block writes the buffer", "name a buffer that a block computes");
}

}  // namespace dovetail::schedule

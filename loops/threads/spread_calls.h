// Rewrites calls of warp operations from the warp's view to the view of each lane.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "loops/core/core.h"
#include "loops/threads/warp_operation.h"

namespace dovetail::loops {

// Each call is enclosed in loops over the lanes, bound to thread.y and thread.x, and operands in registers (buffers of
// scope "register") are replaced by the lane's part:
//
//   call mma(C[.., 0, .., 0, ..], A[..], B[..])
//   ==>  for g in 8 thread(thread.y) { for q in 4 thread(thread.x) { call mma(C[.., g, .., q, ..], A[..], B[..]) } }
//
// (for a group of warps with a third loop around them, bound to thread.z; if a block has several groups, and a loop
// around the call iterates over their sums, that loop is bound to all warps of the block) so that buffers in registers
// are placed like those of any other statement of threads. Operands in memory stay as they are: the lanes read the
// elements given by the operation's maps. Errors: a call of an operation that is not in the list, a register operand
// whose lanes are not thread coordinates.
Result<Core> spread_calls(const Core& core, const std::vector<WarpOperation>& operations, Bounds& bounds,
                          const std::string& where);

bool has_calls(const Core& core);

}  // namespace dovetail::loops

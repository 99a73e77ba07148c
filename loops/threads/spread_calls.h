// Calls of warp operations, from what a warp does to what each of its lanes does.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "loops/core/core.h"
#include "loops/threads/warp_operation.h"

namespace dovetail::loops {

// Around each call come loops over the lanes, bound to thread.y and thread.x, and operands in registers (buffers of
// scope "register") become what the lane holds:
//
//   call mma(C[.., 0, .., 0, ..], A[..], B[..])
//   ==>  for g in 8 thread(thread.y) { for q in 4 thread(thread.x) { call mma(C[.., g, .., q, ..], A[..], B[..]) } }
//
// (of a group of warps with a third loop around them, bound to thread.z; where a block has several groups, and a loop
// around the call goes through their sums, that one has all warps of the block)
// so that buffers in registers are placed as with any other statement of threads. Operands in memory stay as they are:
// the lanes read of them what the operation's maps say. Errors: a call of no operation in the list, a register operand
// whose lanes are no coordinates.
Result<Core> spread_calls(const Core& core, const std::vector<WarpOperation>& operations, Bounds& bounds,
                          const std::string& where);

bool has_calls(const Core& core);

}  // namespace dovetail::loops

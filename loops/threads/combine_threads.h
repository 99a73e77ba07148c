// Loops bound to threads that join a reduction: each thread has a value, and all of them become one
// (compiler/schedule/thread_axes.h, joins_threads).
//
//   for t in 64 thread(thread.x) { s[i] = s[i] + p[t] }
//
// becomes a tree. Lanes of a warp hand one another their values by shuffles, without shared memory and without a
// barrier; where the axis has threads of several warps, one lane of each leaves its warp's part in shared memory, and
// each thread joins these parts in their order. All threads then have the same result, so that none has to wait for
// another one to know it; it is the same in every run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "loops/core/core.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

struct CombinedThreads {
  Core body;
  std::vector<Buffer> own;     // each thread's: its value, and what it gets of another lane
  std::vector<Buffer> shared;  // parts of warps
};

// `axes`: all that the kernel's loops are bound to. New loops get their `bounds`. `where` names the kernel. Error: the
// loop lies under a condition that differs between threads, or not all threads have a value.
Result<CombinedThreads> combine_threads(const Core& kernel, const std::vector<BoundAxis>& axes, Bounds& bounds,
                                        const std::string& where);

}  // namespace dovetail::loops

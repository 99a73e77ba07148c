// Reductions whose loop is bound to threads: each thread has a value, and all values are combined into one
// (compiler/schedule/thread_axes.h, joins_threads).
//
//   for t in 64 thread(thread.x) { s[i] = s[i] + p[t] }
//
// becomes a tree. Lanes of a warp exchange their values by shuffles, without shared memory and without a barrier; if
// the axis has threads of several warps, one lane of each stores its warp's partial result in shared memory, and each
// thread combines the partial results in order. All threads then have the same result, which is also the same in every
// run, and no thread needs to wait for another one to read it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "loops/core/core.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

struct CombinedThreads {
  Core body;
  std::vector<Buffer> own;     // private to each thread: its value, and the value that it receives from another lane
  std::vector<Buffer> shared;  // partial results of warps
};

// `axes`: all axes that the kernel's loops are bound to. New loops get their `bounds`. `where` names the kernel. Error:
// the loop is under a condition that differs between threads, or not all threads have a value.
Result<CombinedThreads> combine_threads(const Core& kernel, const std::vector<BoundAxis>& axes, Bounds& bounds,
                                        const std::string& where);

}  // namespace dovetail::loops

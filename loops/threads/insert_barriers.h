// Inserts barriers, from the dependences between a kernel's regions. No schedule writes one.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "loops/core/core.h"

namespace dovetail::loops {

// Buffers of which every thread has its own copy.
struct OwnBuffers {
  std::set<const BufferNode*> all;
  std::set<const BufferNode*> replicated;  // the subset that all threads compute (replicated.h)
  std::size_t axes = 0;                    // number of thread axes in the kernel
  // The axes whose coordinates distinguish warps, if the threads along the other axes form one warp; else none.
  std::set<std::string> warp_axes;
};

// Two regions need a barrier between them if one writes a buffer that the other accesses, unless both access only
// elements that the same thread owns (accesses.h), or elements that differ in every iteration, such as those of two
// slots of a ring buffer. If all conflicting accesses are within one warp each time, according to the coordinates that
// distinguish warps, only its own threads wait (CoreBarrier::of_warp). A loop around regions is examined several times,
// as its last region is followed by its first. The writes of an asynchronous copy count from its start, and again from
// each wait on: other threads see them only after a barrier following the wait. The same is true for the reads of
// asynchronous calls. The writes of copies of boxes are visible to every thread that waits for their signal. Some calls
// and copies access shared memory through a separate path (CoreProxyFence): the threads that have written what they
// will read execute a fence first, and then the barrier. `where` names the kernel. Error: a barrier would be under a
// condition that differs between threads.
Result<Core> insert_barriers(const Core& kernel, const OwnBuffers& own, const Bounds& bounds, const std::string& where);

}  // namespace dovetail::loops

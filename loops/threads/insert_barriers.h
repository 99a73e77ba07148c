// Barriers, from the dependences between a kernel's regions. No schedule writes one.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "loops/core/core.h"

namespace dovetail::loops {

// Of which every thread has its own.
struct OwnBuffers {
  std::set<const BufferNode*> all;
  std::set<const BufferNode*> replicated;  // among them (replicated.h)
  std::size_t axes = 0;                    // of threads, in the kernel
  // Axes whose coordinates tell warps apart, where the others' threads are one warp; else none.
  std::set<std::string> warp_axes;
};

// Two regions need a barrier between them where one writes a buffer that the other touches, unless both touch of it
// only elements that the same thread owns (accesses.h), or elements that differ in every iteration, as those of two
// places of a ring. Where all that meets belongs to one warp each time, by the coordinates that tell warps apart, its
// own threads alone wait (CoreBarrier::of_warp). A loop around regions is looked at several times, as its last region
// is followed by its first. What an asynchronous copy writes counts from its start, and again from each wait on: others
// see it behind a barrier after that. So does what calls read that complete later. What copies of boxes write, whoever
// waits for their signal sees. Some calls and copies read shared memory by a path of their own (CoreProxyFence): the
// threads that have written what they will read pass a fence first, and then the barrier. `where` names the kernel.
// Error: a barrier would lie under a condition that differs between threads.
Result<Core> insert_barriers(const Core& kernel, const OwnBuffers& own, const Bounds& bounds, const std::string& where);

}  // namespace dovetail::loops

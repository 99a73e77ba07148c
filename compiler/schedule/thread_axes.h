// The axes of a kernel's threads, to which `bind` ties loops. A kernel is a statement of the program's top level.
#pragma once

#include <span>

#include "compiler/schedule/dependence.h"

namespace dovetail::schedule {

struct ThreadAxis {
  std::string_view name;
  std::int64_t most;  // iterations of a loop bound to it
};
// CUDA C++ Programming Guide, technical specifications per compute capability (5.0 to 9.0).
std::span<const ThreadAxis> thread_axes();
constexpr std::int64_t kMostThreads = 1024;  // of thread.x, thread.y and thread.z together

// The loop at `path`, bound to an axis, joins a reduction: each thread has a value, and all of them become one
// (loops/combine.h). It holds one block, which reduces over it, and nothing else but loops bound to threads.
bool joins_threads(const Path& path);

// The rule that the loop at `path`, bound to an axis, breaks:
//  - iterations are independent (dependence.h), or bound to threads and join a reduction; no more than the axis has,
//  - no loop around or below has the same axis; all loops of an axis in a kernel have one extent; thread axes make at
//  most kMostThreads together,
//  - a loop bound to a block axis is the whole kernel, or all that another such loop holds: blocks cannot wait for one
//  another.
// Threads of a block can: between loops bound to thread axes the back end puts barriers. What is in no loop of an
// axis is done once.
std::optional<Conflict> broken_axis(const loops::Program& program, const Path& path,
                                    const loops::IntrinsicTable& intrinsics);

}  // namespace dovetail::schedule

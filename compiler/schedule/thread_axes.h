// The axes of a kernel's threads, to which `bind` binds loops. A kernel is a top-level statement of the program.
#pragma once

#include <span>

#include "compiler/schedule/dependence.h"

namespace dovetail::schedule {

struct ThreadAxis {
  std::string_view name;
  std::int64_t most;  // maximum iterations of a loop bound to it
};
// CUDA C++ Programming Guide, technical specifications per compute capability (5.0 to 9.0).
std::span<const ThreadAxis> thread_axes();
constexpr std::int64_t kMostThreads = 1024;  // of thread.x, thread.y and thread.z together

// Whether the loop at `path`, bound to an axis, is a loop of a reduction: each thread has a value, and all values are
// combined into one (loops/combine.h). It contains one block, which reduces over it, and otherwise only loops bound to
// threads.
bool joins_threads(const Path& path);

// The rule that the loop at `path`, bound to an axis, violates:
//  - iterations are independent (dependence.h), or bound to threads and combined in a reduction; at most as many as the
//    axis has,
//  - no loop around or below has the same axis; all loops of an axis in a kernel have one extent; thread axes make at
//    most kMostThreads together,
//  - a loop bound to a block axis is the whole kernel, or the only statement in another such loop: blocks cannot wait
//    for one another.
// Threads of a block can: between loops bound to thread axes the back end inserts barriers. Statements in no loop of an
// axis run once.
std::optional<Conflict> broken_axis(const loops::Program& program, const Path& path,
                                    const loops::IntrinsicTable& intrinsics);

}  // namespace dovetail::schedule

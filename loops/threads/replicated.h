// Determines which buffers are private to every thread: those whose elements are computed and read by the same thread,
// and those that every thread computes completely (replicated).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "loops/core/core.h"
#include "loops/threads/accesses.h"
#include "loops/threads/thread_program.h"
#include "loops/threads/thread_regions.h"

namespace dovetail::loops {

// An access of a buffer with its region.
struct Use {
  std::vector<Expr> indices;
  const ThreadRegion* region;
  bool written;
};

// Per dimension, the part of a buffer that belongs to a thread. Along each axis of the kernel, a thread owns elements
// (accesses.h), or the buffer is private to the iterations of one loop, or it is written in no loop of that axis and is
// the same for all coordinates. nullopt: a thread may read an element of another one.
using Owners = std::map<std::size_t, Owner>;
std::optional<Owners> owners_of(const BufferNode& buffer, const std::vector<Use>& uses,
                                const std::vector<BoundAxis>& axes, const Bounds& bounds);

// Buffers that every thread computes for itself, although their statements are in no loop of some axis, so that no
// thread needs to wait for another one's result. Such a statement writes nothing else that other threads see, and its
// region writes nothing that other threads see and reads it again. At most kMostReplicated elements per thread.
// `temporary`: the candidates, each used by this kernel only.
inline constexpr std::int64_t kMostReplicated = 64;
std::set<const BufferNode*> replicated_buffers(const std::vector<ThreadRegion>& regions,
                                               const std::vector<Buffer>& temporary, const std::vector<BoundAxis>& axes,
                                               const Bounds& bounds);

}  // namespace dovetail::loops

// Lowers the core form of a program with bound loops to its kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "loops/core/core.h"
#include "loops/threads/give_slots.h"
#include "loops/threads/pipeline_copies.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

// Limits of a block: memory that its threads may share, and memory that each thread may have.
struct ThreadLimits {
  std::int64_t shared_bytes = 48 << 10;
  std::int64_t local_bytes = 16 << 10;
  PipelineOptions pipeline;
  Slots slots = {};  // the schedule's slots of buffers that threads of a block share
  // The operations that calls may name.
  std::shared_ptr<const std::vector<WarpOperation>> operations = std::make_shared<std::vector<WarpOperation>>();
};

// Each top-level nest becomes a kernel; neighboring nests of one block, at most one of which has several threads,
// become one kernel together. The placement of a temporary buffer follows from its users:
//  - several kernels: in the workspace;
//  - one thread each time, or each thread only elements that it owns (accesses.h, Owner): private to each thread, with
//    that thread's elements only;
//  - else the threads of a block share it, and barriers (insert_barriers.h) order their accesses.
// Precondition: the program verifies, and its bound loops have the properties that their kind requires
// (compiler/schedule/thread_axes.h). Errors: buffers larger than the limits, a barrier in divergent control flow, slots
// of a buffer that no block shares.
Result<ThreadProgram> lower_to_threads(CoreProgram core, const std::string& name, const ThreadLimits& limits = {});

}  // namespace dovetail::loops

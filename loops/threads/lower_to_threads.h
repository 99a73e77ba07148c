// From the core form of a program with bound loops to its kernels.
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

// Of a block: what its threads may have in common, and what each may have for itself.
struct ThreadLimits {
  std::int64_t shared_bytes = 48 << 10;
  std::int64_t local_bytes = 16 << 10;
  PipelineOptions pipeline;
  Slots slots = {};  // what the schedule gives, of buffers that threads of a block share
  // That calls may name.
  std::shared_ptr<const std::vector<WarpOperation>> operations = std::make_shared<std::vector<WarpOperation>>();
};

// Each nest of the top level becomes a kernel; neighbors of one block, of which one at most has several threads, are
// one together. Where a temporary buffer lies follows from who uses it:
//  - several kernels: in the workspace;
//  - one thread each time, or each thread elements of its own only (accesses.h, Owner): every thread has its part, and
//    no other thread's;
//  - else the threads of a block share it, and barriers (insert_barriers.h) order their accesses.
// Precondition: the program verifies, and its bound loops keep the promise of their kind
// (compiler/schedule/thread_axes.h). Errors: buffers larger than the limits, a barrier where threads part ways, slots
// of what no block shares.
Result<ThreadProgram> lower_to_threads(CoreProgram core, const std::string& name, const ThreadLimits& limits = {});

}  // namespace dovetail::loops

// Buffers that several iterations have at once: each of the next iterations of a loop has a place of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "loops/core/core.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

// By the names of buffers: places for so many iterations.
using Slots = std::map<std::string, std::int64_t>;

// for k in N { fill(b); use(b) }   becomes   for k in N { fill(b[k % COUNT]); use(b[k % COUNT]) }
//
// for each buffer of the kernel's shared ones that has slots, by the innermost loop around all its uses that threads do
// not share: what fills it for an iteration need not wait until the iteration before has used it. The order of
// statements stays; barriers are put in afterwards (insert_barriers.h). What is given is taken out of `slots`.
// Errors: no such loop, or a pipelined one, which gives its buffers as many places as it has stages.
Result<Core> give_slots(const Core& body, ThreadKernel& kernel, Slots& slots, const std::string& where);

}  // namespace dovetail::loops

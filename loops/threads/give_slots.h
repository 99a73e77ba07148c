// Buffers with slots (multiple buffering): consecutive iterations of a loop use different slots, so that several
// iterations can be in progress.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "loops/core/core.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

// Number of slots, by buffer name.
using Slots = std::map<std::string, std::int64_t>;

// for k in N { fill(b); use(b) }   becomes   for k in N { fill(b[k % COUNT]); use(b[k % COUNT]) }
//
// for each shared buffer that has slots, indexed by the innermost loop around all its uses that is not bound to
// threads: the statement that fills it for an iteration need not wait until the preceding iteration has used it. The
// order of statements stays; barriers are inserted afterwards (insert_barriers.h). Processed buffers are removed from
// `slots`. Errors: no such loop, or a pipelined one, which gives its buffers one slot per stage.
Result<Core> give_slots(const Core& body, ThreadKernel& kernel, Slots& slots, const std::string& where);

}  // namespace dovetail::loops

// Loops of kind pipelined: fetches into shared memory are started some iterations before their data is used, in a ring
// buffer.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "loops/core/core.h"
#include "loops/threads/box_copies.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

struct PipelineOptions {
  bool asynchronous = true;             // the machine has asynchronous copies
  std::int64_t local_bytes = 256;       // memory that a thread may use for data that it fetches ahead
  std::optional<BoxCopies> boxes = {};  // boxes that hardware can copy; nullopt: no such unit
};

// for p in N pipelined @stages("S") { fetch(p); use(p) }   becomes, with a ring of S slots for each fetched buffer,
//
//   fetch(0) into place 0; commit; ...; fetch(S - 2) into place S - 2; commit
//   for p in N {
//     wait for all groups but S - 2                  the data that use(p) reads is complete: it was committed S - 1
//     groups ago if (p + S - 1 < N) fetch(p + S - 1) into place (p + S - 1) % S
//     commit                                         also where nothing was fetched, so that the count is right
//     use(p) from place p % S
//   }
//
// If use(p) is a nest of asynchronous calls, and S is 3 or more, the calls of p are still in flight in iteration p + 1:
// data is fetched S - 2 iterations before it is used, and the wait for the calls of p - 1 comes before the fetch, which
// fills the slot that they have read.
//
// A fetch of a matrix that only such calls read becomes the copy of a box (box_copies.h) if it is one and the loop runs
// once. Then a signal for each slot of the ring counts the bytes copied to it:
//
//   start all signals
//   for p < S - 1 { expect the bytes of iteration p at signal p; copy its boxes }
//   for p in N { wait for signal p % S, phase p / S; if (p + S - 1 < N) { expect ...; copy ... }; use(p) }
//
// If all fetches are boxes, and calls complete later, S is 2 or more, and boxes are copied after the calls, when the
// preceding calls have read their slot: a copy is in flight for S - 1 iterations, and no slot waits for its calls.
//
//   for p in N { wait for signal p % S; begin calls of p; wait for those of p - 1; if (p + S - 1 < N) { ... copy } }
//
// All other fetches continue as above. A fetch is an asynchronous copy if it moves elements unchanged, from a buffer
// that this kernel does not write, at addresses that can be proven to be multiples of 4, 8 or 16 bytes; other elements
// are computed into registers there, and stored after use(p). Fetches are the leading statements that write shared
// buffers of `kernel` and read nothing that the loop writes: no fetch is moved against a dependence, whatever the
// schedule requests. Barriers are inserted later (insert_barriers.h). Errors: a loop without such a statement; one that
// fetches several values at a time, or more bytes than a thread may store.
Result<Core> pipeline_copies(const Core& body, ThreadKernel& kernel, Bounds& bounds, const std::string& where,
                             const PipelineOptions& options);

}  // namespace dovetail::loops

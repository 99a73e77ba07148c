// Loops of kind pipelined: what their iterations fetch into shared memory is under way some iterations before it is
// used, in a ring of places.
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
  std::int64_t local_bytes = 256;       // that a thread may keep of what it fetches ahead
  std::optional<BoxCopies> boxes = {};  // that the machine copies by itself; nullopt: it has no unit for them
};

// for p in N pipelined @stages("S") { fetch(p); use(p) }   becomes, with a ring of S places for each fetched buffer,
//
//   fetch(0) into place 0; commit; ...; fetch(S - 2) into place S - 2; commit
//   for p in N {
//     wait for all groups but S - 2                  what use(p) reads has landed: it was committed S - 1 groups ago
//     if (p + S - 1 < N) fetch(p + S - 1) into place (p + S - 1) % S
//     commit                                         also where nothing was fetched, so that the count is right
//     use(p) from place p % S
//   }
//
// Where use(p) is a nest of calls that complete later, and S is 3 or more, those of p are still under way in iteration
// p + 1: a piece is fetched S - 2 iterations before it is used, and the wait for the calls of p - 1 stands in front of
// the fetch, which fills the place that they have read.
//
// A fetch of a matrix that such calls alone read is the copy of a box (box_copies.h) where it is one, and the loop runs
// once. Then a signal for each place of the ring counts what lands there:
//
//   start all signals
//   for p < S - 1 { expect the bytes of piece p at signal p; copy its boxes }
//   for p in N { wait for signal p % S, phase p / S; if (p + S - 1 < N) { expect ...; copy ... }; use(p) }
//
// Where all fetches are boxes, and calls complete later, S is 2 or more, and boxes are copied behind the calls, when
// those before have read their place: a piece is on its way for S - 1 iterations, and no place waits for its calls.
//
//   for p in N { wait for signal p % S; begin calls of p; wait for those of p - 1; if (p + S - 1 < N) { ... copy } }
//
// All other fetches go on as above. A fetch is an asynchronous copy where it moves elements as they are, from a buffer
// that this kernel does not write, at addresses that can be proven to be multiples of 4, 8 or 16 bytes; other elements
// are computed into registers there, and stored behind use(p). Fetches are the statements in front that write shared
// buffers of `kernel` and read nothing that the loop writes: whatever the schedule says besides, none is moved against
// a dependence. Barriers come after (insert_barriers.h). Errors: a loop that has no such statement, one that fetches
// more than one value at a time, or more than a thread may keep.
Result<Core> pipeline_copies(const Core& body, ThreadKernel& kernel, Bounds& bounds, const std::string& where,
                             const PipelineOptions& options);

}  // namespace dovetail::loops

// Runs kernels as a machine with threads may run them: blocks in any order, the threads of a block interleaved
// statement by statement between barriers, asynchronous copies landing between their start and the wait that covers
// them. The seed chooses. It knows of synchronization only what is in the lowered program: it shares no analysis with
// the passes that placed buffers and inserted barriers, and so finds their mistakes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

// `arguments`: the inputs and constants among `parameters`, in their order; returns the outputs. Every rule below is
// judged on the accesses themselves, whatever the order was, so that a broken one is found with any seed:
//  - two threads that touch one element, one of them to write it, have a barrier between them, and are of one block;
//  - all threads of a block come to the same barriers, and all lanes of a shuffle's mask, and no others, to it; none
//    reads from a lane outside of the mask;
//  - what an asynchronous copy writes is touched by nobody, and what it reads is written by nobody, between its start
//    and the wait of its thread that covers it; with the wait it counts as written by that thread;
//  - the same holds of the copy of a box, until the phase of its signal has ended; from then on whoever has waited for
//    that, or has a barrier behind one who has, may touch it. A phase expects as many bytes as its copies have; the
//    next one begins when all threads know that it has ended, and no thread waits for one that never ends. What units
//    of the machine write or use, signals among it, threads have written, or read, before a fence of theirs and a
//    barrier;
//  - all lanes of a warp, or of a group of warps, come to the same calls of its operations, each for its elements as
//    any other access; but any lane of a warp may load what the call reads of memory that several threads see, so that
//    a barrier is behind whoever wrote it, the lane that needs it too;
//  - a call that completes later reads, and writes, at any time until the wait of each of its threads that covers it:
//    nobody touches its sums but calls of the same operation, nor writes what it reads, before that. Its threads arrive
//    between what they write to its sums and the call; what it reads of shared memory, by the unit's own way from where
//    CoreMatrix says, was written before a fence of the writer and a barrier after it;
//  - an index lies in its buffer, an element was written before it is read (by whom it belongs to: shared memory is
//    undefined when a block begins, a thread's own when the thread does), and no integer is divided by zero.
// Error: the first rule that is broken, with kernel, buffer, element and both threads.
Result<std::vector<NdArray>> run_threads(const ThreadProgram& program, std::span<const Parameter> parameters,
                                         std::span<const NdArray> arguments, std::uint64_t seed);

}  // namespace dovetail::loops

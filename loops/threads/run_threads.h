// Runs kernels as a machine with threads may run them: blocks in any order, the threads of a block interleaved
// statement by statement between barriers, asynchronous copies completing at any time between their start and their
// wait. The seed selects the order. It uses only the synchronization in the lowered program: it shares no analysis with
// the passes that placed buffers and inserted barriers, and so finds their errors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

// `arguments`: the inputs and constants among `parameters`, in their order; returns the outputs. Every rule below is
// checked on the accesses themselves, independent of the order, so that a violation is found with any seed:
//  - two threads that access one element, at least one writing it, have a barrier between them, and are of one block;
//  - all threads of a block execute the same barriers, and exactly the lanes of a shuffle's mask execute it; none reads
//    from a lane outside of the mask;
//  - no thread accesses the destination of an asynchronous copy, or writes its source, between its start and its
//    thread's wait for it; after the wait it counts as written by that thread;
//  - the same holds for the copy of a box, until the phase of its signal has ended. After that, threads that have
//    waited for it, or passed a barrier after such a thread, may access it. A phase expects as many bytes as its copies
//    have; the next one begins when all threads know that it has ended, and no thread waits for one that never ends.
//    Data that hardware units write or use, including signals, was written, or read, by threads before a fence by them
//    and a barrier;
//  - all lanes of a warp, or of a group of warps, execute the same calls of its operations, each accessing its elements
//    like any other access; but any lane of a warp may load data of memory that several threads see, so that a barrier
//    must follow the writing thread, even if that is the lane that needs it;
//  - an asynchronous call reads and writes at any time until each of its threads waits for it: before that, only calls
//    of the same operation may access its sums, and no thread may write what it reads. Its threads arrive between their
//    writes to its sums and the call; what it reads of shared memory, through the unit's own path from where CoreMatrix
//    says, was written before a fence of the writer and a barrier after it;
//  - an index is within its buffer, an element was written before it is read (by its owner: shared memory is undefined
//    when a block begins, a thread's own when the thread does), and no integer is divided by zero.
// Error: the first violated rule, with kernel, buffer, element and both threads.
Result<std::vector<NdArray>> run_threads(const ThreadProgram& program, std::span<const Parameter> parameters,
                                         std::span<const NdArray> arguments, std::uint64_t seed);

}  // namespace dovetail::loops

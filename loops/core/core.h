// The core form: a program with its blocks dissolved. Iterators are replaced by their bindings, predicates and inits
// become conditions, intrinsic calls become their semantics on windows of the operands, and loops of one iteration are
// removed. The interpreter and the code generators for CPUs compile from this form; `dissolve_blocks` makes it from a
// verified program and it is never written by hand, so it has a printer and no parser.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "loops/ir.h"
#include "loops/simplify.h"

namespace dovetail::loops {

struct CoreNode;
using Core = std::shared_ptr<const CoreNode>;  // null: nothing to do

struct CoreLoop {
  Var var;
  std::int64_t extent;  // at least 2; 1 if the loop is bound to blocks
  ForKind kind;
  std::string thread_axis;  // ForKind::thread
  Annotations annotations;  // annotations of the For
  Core body;
  // The iterations that run, set by trim_loops alone (loops/core/trim_loops.h): from `first` on, before `end`, both
  // evaluated once before the loop, of any int64 value; `proceed` is evaluated before each iteration, and the loop ends
  // where it is false. Null: from 0, to the extent, always.
  Expr first = nullptr, end = nullptr, proceed = nullptr;
};
struct CoreIf {
  Expr condition;
  Core then_body, else_body;  // else may be null
};
struct CoreSequence {
  std::vector<Core> body;
};
struct CoreStore {
  std::vector<StoreTarget> targets;  // indices and values are simplified
  std::string block;                 // for diagnostics
  // Elements that the block's init has already written when this statement runs.
  std::vector<LoadExpr> initialized;
  bool product_sum = false;  // the block is a sum of products (loops/product_sum.h)
  bool from_zero = false;    // what the init has written is 0 or +0.0
};
// The contents become undefined: an intrinsic's own buffers at each call.
struct CoreForget {
  Buffer buffer;
};
// All threads of a block reach this point before any continues, and each sees what the others have written. Inserted by
// loops/threads/insert_barriers.h, never by a schedule; has no effect with one thread. `of_warp`: synchronizes only the
// threads within each warp.
struct CoreBarrier {
  bool of_warp = false;
};
// Starts an asynchronous copy of `elements` neighbors, while the thread continues: each element may be read from its
// source and written to its destination at any time until that thread waits for the copy. If `condition` is false,
// zeros are written and nothing is read; null: always true. Inserted by loops/threads/pipeline_copies.h, never by a
// schedule.
struct CoreAsyncCopy {
  Buffer to;
  std::vector<Expr> to_indices;  // indices of the first element; the others follow in dimension run_dimension(shape)
  Buffer from;
  std::vector<Expr> from_indices;
  std::int64_t elements = 1;
  Expr condition;
  std::string block;  // for diagnostics
};
// The last dimension with several elements: neighbors in it are neighbors in memory.
std::size_t run_dimension(const Shape& shape);
// commit: the copies that the thread has started since its last commit form a group. wait: the thread blocks until all
// of its groups except the last `groups` are complete; other threads see their data only after a barrier. All threads
// of a block execute it.
struct CoreAsyncGroup {
  enum class Step : std::uint8_t { commit, wait } step = Step::commit;
  std::int64_t groups = 0;  // wait
};
// Lanes of a warp (kWarpLanes neighboring threads of a block) exchange a value: `to` becomes the value at `from` of the
// lane whose number is this lane's xor `distance`; both are in buffers private to the thread. All lanes in `mask` reach
// this point before any continues; it does not order memory that other threads see. Inserted by
// loops/threads/combine_threads.h, never by a schedule.
struct CoreShuffle {
  LoadExpr to, from;
  std::int64_t distance = 1;
  std::uint32_t mask = ~std::uint32_t{0};
};
inline constexpr std::int64_t kWarpLanes = 32;
// The layout of a matrix in shared memory as a hardware unit reads it, in bytes from the first element on. 16 bytes are
// contiguous; a panel is `swizzle` bytes wide, eight of its lines follow one another, and the 16-byte chunk p of line l
// is stored where chunk p ^ (l mod swizzle / 16) would be (for narrower panels l counts lines of 128 bytes). Lines are
// rows, and the depth runs along them (depth_inner), or the reverse.
struct CoreMatrix {
  bool depth_inner = true;
  std::int64_t leading = 16;  // from a panel to the next one, if a call takes several
  std::int64_t stride = 0;    // from eight lines to the next eight
  std::int64_t swizzle = 128;
  bool operator==(const CoreMatrix&) const = default;
};
// A call of a tensor intrinsic for which the back end has an instruction (CallForm::kept); operands are elements of the
// program's own buffers.
struct CoreCall {
  std::string intrinsic;
  std::vector<IntrinsicOperand> operands;
  std::vector<Expr> immediates;
  // The call is asynchronous (Completion::commit_wait): operands are read, and the first one is written, at any time
  // until the threads that issued the call wait for it.
  bool later = false;
  // The layout of each operand that the unit reads from memory itself; its `steps` are then unused. Empty: no such
  // operand.
  std::vector<std::optional<CoreMatrix>> matrices = {};
};
// A thread's synchronization of asynchronous calls. arrive: values that it has written to registers used by calls are
// visible to the calls that it issues from now on. commit: the calls since the last commit form a group. wait: all of
// its groups except the last `groups` are done. Inserted by loops/threads/complete_calls.h and pipeline_copies.h, never
// by a schedule.
struct CoreCallGroup {
  enum class Step : std::uint8_t { arrive, commit, wait } step = Step::arrive;
  std::int64_t groups = 0;  // wait
};
// Makes the thread's writes to shared memory visible to units that access it directly (matrices of calls, copies of
// tensor boxes and their signals), after the next barrier.
struct CoreProxyFence {};
// Copies a box of a tensor to shared memory: one thread starts it, and a hardware unit performs it asynchronously to
// all threads. `from` is treated as a dense tensor of the shape `tensor`; for elements of the box outside the tensor,
// zeros are written and nothing is read. Elements are contiguous from the first one of `to` on, in the order of the
// box; with `swizzle`, which is the box's bytes in its last dimension, 16-byte chunks are exchanged as described for
// CoreMatrix. Each element may be written at any time until a wait for the phase of the signal in which the copy was
// started. Inserted by loops/threads/pipeline_copies.h, never by a schedule.
struct CoreBoxCopy {
  Buffer to;
  std::vector<Expr> to_indices;  // indices of the first element
  Buffer from;
  Shape tensor;
  std::vector<Expr> from_indices;  // indices of the first element, in dimensions of `tensor`
  Shape box;                       // extents, in dimensions of `tensor`
  std::int64_t swizzle = 0;
  Buffer signals;  // the signals, of which the one at `signal` counts the copied bytes
  Expr signal;
  std::string block;  // for diagnostics
};
// A signal, an element of a buffer in shared memory, counts the bytes that copies have written (CUDA's mbarrier).
// start: its phase 0 begins. expect: the number of bytes of the current phase; one thread sets it, once per phase. When
// they have been written, the phase ends, and the next begins. wait: the thread blocks until the phase of the given
// parity (even: 0) has ended, that is, until the next one has begun; it then sees the copied data. All threads of a
// block execute a wait. Inserted by loops/threads/pipeline_copies.h, never by a schedule.
struct CoreSignal {
  enum class Step : std::uint8_t { start, expect, wait } step = Step::start;
  Buffer signals;
  Expr signal;
  std::int64_t bytes = 0;  // expect
  Expr parity = nullptr;   // wait
};
inline constexpr DType kSignalType = DType::int64;
struct CoreNode {
  std::variant<CoreLoop, CoreIf, CoreSequence, CoreStore, CoreForget, CoreCall, CoreBarrier, CoreAsyncCopy,
               CoreAsyncGroup, CoreShuffle, CoreCallGroup, CoreProxyFence, CoreBoxCopy, CoreSignal>
      node;
};

struct CoreProgram {
  Core body;
  Bounds bounds;                  // of all loop variables; each belongs to one loop
  std::vector<Buffer> temporary;  // allocations of the program and of the intrinsics called
};

Core make_core(decltype(CoreNode::node) node);
Core core_sequence(std::vector<Core> body);  // flat and without null parts; a single statement is returned unchanged
// `body` if the condition holds, else `otherwise`; decided here if the condition is null (always) or a literal.
Core core_if(const Expr& condition, Core body, Core otherwise = nullptr);

// Prints one statement per line, in the notation of loop programs.
std::string to_string(const CoreProgram& program);
std::string to_string(const Core& core);

}  // namespace dovetail::loops

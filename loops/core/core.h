// The core form: a program with its blocks dissolved. Iterators are replaced by their bindings, predicates and inits
// are conditions, intrinsic calls are their semantics on windows of the operands, loops of one iteration are gone. What
// the interpreter and the code generators for CPUs compile from; it is made by `dissolve_blocks` from a verified
// program and nobody writes it by hand, so it has a printer and no parser.
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
  std::int64_t extent;  // at least 2; 1 where it is bound to blocks
  ForKind kind;
  std::string thread_axis;  // ForKind::thread
  Annotations annotations;  // of the For
  Core body;
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
  // Elements that the block's init has written whenever this statement runs.
  std::vector<LoadExpr> initialized;
  bool product_sum = false;  // of a block that is a sum of products (loops/product_sum.h)
};
// The contents become undefined: an intrinsic's own buffers at each call.
struct CoreForget {
  Buffer buffer;
};
// All threads of a block have come here before one goes on, and each sees what the others have written. Inserted by
// loops/threads/insert_barriers.h, never by a schedule; nothing where there is one thread. `of_warp`: each warp's
// threads for themselves.
struct CoreBarrier {
  bool of_warp = false;
};
// Starts to copy `elements` neighbors, beside the thread that goes on: each may land, and be read from where it comes
// from, at any time until a wait of that thread covers the copy. Where `condition` does not hold, zeros land and
// nothing is read; null: it holds. Inserted by loops/threads/pipeline_copies.h, never by a schedule.
struct CoreAsyncCopy {
  Buffer to;
  std::vector<Expr> to_indices;  // of the first element; the others follow in dimension run_dimension(shape)
  Buffer from;
  std::vector<Expr> from_indices;
  std::int64_t elements = 1;
  Expr condition;
  std::string block;  // for diagnostics
};
// The last dimension of several elements: neighbors in it are neighbors in memory.
std::size_t run_dimension(const Shape& shape);
// commit: the copies that the thread has started since its last commit are a group. wait: the thread goes on when all
// of its groups but the last `groups` have landed; others see them behind a barrier. All threads of a block come to it.
struct CoreAsyncGroup {
  enum class Step : std::uint8_t { commit, wait } step = Step::commit;
  std::int64_t groups = 0;  // wait
};
// Lanes of a warp (kWarpLanes neighboring threads of a block) hand one another a value: `to` becomes what the lane
// whose number differs in `distance` has at `from`; both are places in buffers of the thread's own. The lanes in `mask`
// have all come here before one of them goes on; memory that others see is not ordered by it. Inserted by
// loops/threads/combine_threads.h, never by a schedule.
struct CoreShuffle {
  LoadExpr to, from;
  std::int64_t distance = 1;
  std::uint32_t mask = ~std::uint32_t{0};
};
inline constexpr std::int64_t kWarpLanes = 32;
// A matrix in shared memory as a unit of the machine finds it from the first element on, in bytes. Side by side lie 16
// bytes; of a panel, `swizzle` bytes wide, eight lines follow one another, and the 16 bytes of number p of line l are
// where those of number p ^ (l mod swizzle / 16) would be (of narrower panels l counts lines of 128 bytes). Lines are
// rows, and along them lies the depth (depth_inner), or the other way round.
struct CoreMatrix {
  bool depth_inner = true;
  std::int64_t leading = 16;  // from a panel to the next one, where a call takes several
  std::int64_t stride = 0;    // from eight lines to the next eight
  std::int64_t swizzle = 128;
  bool operator==(const CoreMatrix&) const = default;
};
// A call of a tensor intrinsic that the back end has an instruction for (CallForm::kept); operands are places in the
// program's own buffers.
struct CoreCall {
  std::string intrinsic;
  std::vector<IntrinsicOperand> operands;
  std::vector<Expr> immediates;
  // It completes after its issue (Completion::commit_wait): operands are read, and the first one is written, at any
  // time until a wait of the threads that issued it covers it.
  bool later = false;
  // Of each operand that the unit reads from memory itself; its `steps` then say nothing. Empty: of none.
  std::vector<std::optional<CoreMatrix>> matrices = {};
};
// A thread's steps around calls that complete later. arrive: what it has written to registers that calls take is there
// for those that it issues from now on. commit: the calls since the last commit are a group. wait: all of its groups
// but the last `groups` are done. Inserted by loops/threads/complete_calls.h and pipeline_copies.h, never by a
// schedule.
struct CoreCallGroup {
  enum class Step : std::uint8_t { arrive, commit, wait } step = Step::arrive;
  std::int64_t groups = 0;  // wait
};
// What the thread has written to shared memory is there for units that use it by themselves (matrices of calls, copies
// of boxes and their signals), once a barrier has been passed as well.
struct CoreProxyFence {};
// Copies a box of a tensor to shared memory: one thread starts it, and a unit of the machine carries it out beside all
// of them. `from` is seen as a dense tensor of the shape `tensor`; what of the box lies outside of that is read
// nowhere, and zeros land. Elements follow one another from the first one of `to` on, in the order of the box; with
// `swizzle`, which is the box's bytes in its last dimension, 16-byte pieces are exchanged as CoreMatrix says. Each
// element may land at any time until a wait for the phase of the signal in which the copy was started. Inserted by
// loops/threads/pipeline_copies.h, never by a schedule.
struct CoreBoxCopy {
  Buffer to;
  std::vector<Expr> to_indices;  // of the first element
  Buffer from;
  Shape tensor;
  std::vector<Expr> from_indices;  // of the first element, in dimensions of `tensor`
  Shape box;                       // the same
  std::int64_t swizzle = 0;
  Buffer signals;  // of which the one at `signal` counts the bytes that land
  Expr signal;
  std::string block;  // for diagnostics
};
// A signal, one of a buffer in shared memory, counts bytes of copies that land. start: its phase 0 begins. expect: in
// the phase that has begun, so many bytes are to land; one thread says so, once a phase. When they have landed, the
// phase ends, and the next begins. wait: the thread goes on when the phase of that parity (even: 0) has ended, which is
// so where the other one has begun; it then sees what has landed. All threads of a block come to a wait. Inserted by
// loops/threads/pipeline_copies.h, never by a schedule.
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
Core core_sequence(std::vector<Core> body);  // flat and without null parts; a single one stays itself
// `body` where the condition holds, else `otherwise`; decided here where the condition is null (always) or a literal.
Core core_if(const Expr& condition, Core body, Core otherwise = nullptr);

// One statement a line, in the notation of loop programs.
std::string to_string(const CoreProgram& program);
std::string to_string(const Core& core);

}  // namespace dovetail::loops

// The properties that a loop's kind guarantees to the back ends. The primitive that sets the kind checks them, and
// Schedule::apply checks them again after every later step.
#pragma once

#include <functional>
#include <optional>

#include "compiler/schedule/dependence.h"
#include "loops/limits.h"
#include "loops/stages.h"

namespace dovetail::schedule {

// The rule that the kind of the loop at `path` violates; nullopt if none. Serial loops guarantee nothing.
//   parallel    iterations are independent (dependence.h); no other parallel loop around or below
//   vectorized  iterations are independent; at most kMostLanes of them; below are only blocks of plain stores and
//               unrolled loops, and each index changes with the loop by a constant step (predicates may depend on it:
//               masked lanes; an index of a load that is itself loaded data makes a gather)
//   unrolled    it and all enclosing unrolled loops make at most kMostCopies copies of the body
//   vthread     iterations are independent
//   pipelined   the loop contains a sequence and has at least as many iterations as stages; the data that the
//   statements before
//               the last one write are private to the iteration, and they read nothing that the last one writes: they
//               may run ahead of it
//   thread      thread_axes.h
std::optional<Conflict> broken_kind(const loops::Program& program, const Path& path,
                                    const loops::IntrinsicTable& intrinsics);

using loops::kStages;

constexpr const char* kSlots =
    "slots";  // annotation of a block: how many iterations have separate storage for its result

// Why iterations of the innermost loop around all uses of the buffer cannot have separate storage; nullopt if they can.
std::optional<Conflict> broken_slots(const loops::Program& program, const loops::Buffer& buffer,
                                     const loops::IntrinsicTable& intrinsics);

struct BrokenKind {
  std::string loop;  // "vectorized loop x", "the slots of x"
  Conflict conflict;
};
// The first loop whose kind is violated, or buffer that cannot have its slots.
std::optional<BrokenKind> first_broken_kind(const loops::Program& program, const loops::IntrinsicTable& intrinsics);

// `program` with the serial loop of that name changed; error if the new kind's rule is violated.
Result<loops::Program> with_kind(const loops::Program& program, std::string_view loop, std::string_view primitive,
                                 const loops::IntrinsicTable& intrinsics,
                                 const std::function<void(loops::For&)>& change);

}  // namespace dovetail::schedule

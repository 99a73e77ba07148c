// What a loop's kind promises to the back ends, checked: by the primitive that sets it, and again after every later
// step (Schedule::apply), so that no step takes a promise back.
#pragma once

#include <functional>
#include <optional>

#include "compiler/schedule/dependence.h"
#include "loops/limits.h"
#include "loops/stages.h"

namespace dovetail::schedule {

// The rule that the kind of the loop at `path` breaks; nullopt where none. Serial loops promise nothing.
//   parallel    iterations are independent (dependence.h); no other parallel loop around or below
//   vectorized  iterations are independent; at most kMostLanes of them; below are stored blocks of plain stores and
//   unrolled
//               loops alone, and each index moves with the loop by a constant step (predicates may mention it: masked
//               lanes; an index of a load that is data itself makes a gather)
//   unrolled    all unrolled loops around and it make at most kMostCopies copies of what is below
//   vthread     iterations are independent
//   pipelined   it holds a sequence and has at least as many iterations as stages; what the statements before the last
//               one write is private to the iteration, and they read nothing that the last one writes: they may run
//               ahead of it
//   thread      thread_axes.h
std::optional<Conflict> broken_kind(const loops::Program& program, const Path& path,
                                    const loops::IntrinsicTable& intrinsics);

using loops::kStages;

constexpr const char* kSlots = "slots";  // the annotation of a block: how many iterations have a place for its result

// Why iterations of the innermost loop around all uses of the buffer cannot have their own places; nullopt where
// they can.
std::optional<Conflict> broken_slots(const loops::Program& program, const loops::Buffer& buffer,
                                     const loops::IntrinsicTable& intrinsics);

struct BrokenKind {
  std::string loop;  // "vectorized loop x", "the slots of x"
  Conflict conflict;
};
// The first loop whose kind is broken, or buffer that cannot have its slots.
std::optional<BrokenKind> first_broken_kind(const loops::Program& program, const loops::IntrinsicTable& intrinsics);

// `program` with the serial loop of that name changed, or refused where the new kind is broken.
Result<loops::Program> with_kind(const loops::Program& program, std::string_view loop, std::string_view primitive,
                                 const loops::IntrinsicTable& intrinsics,
                                 const std::function<void(loops::For&)>& change);

}  // namespace dovetail::schedule

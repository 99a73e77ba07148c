// Which kinds of loops, slots and scopes of buffers a target makes code for. A kind is a promise that a schedule proved
// (compiler/schedule/loop_kinds.h) and that the back end is to make use of: a program with a kind that it would ignore
// is refused, and so are slots and scopes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "loops/ir.h"
#include "loops/limits.h"

namespace dovetail {

struct LoopSupport {
  std::string_view target;                             // in messages: "the CPU back end"
  std::span<const loops::ForKind> kinds;               // besides serial loops, which all take
  std::span<const std::string_view> thread_axes = {};  // to which loops of kind `thread` may be bound
  std::int64_t most_lanes = loops::kMostLanes;         // iterations of a vectorized loop
  std::int64_t most_stages = loops::kMostStages;       // of a pipelined loop
  bool slots = false;                                  // places of a buffer for several iterations
  // Where buffers may lie besides the target's choice; nullopt: the target checks its scopes itself.
  std::optional<std::span<const std::string_view>> scopes = std::nullopt;
};

// Errors: every loop, slots and scope of the program that the target does not honor, with its name, the target and the
// remedy.
Result<void> check_loops(const loops::Program& program, const LoopSupport& support);

}  // namespace dovetail

// The kinds of loops, slots and buffer scopes that a target supports. A kind is a promise that a schedule proved
// (compiler/schedule/loop_kinds.h) and that the back end must use: a program with a kind that the target would ignore
// is rejected, as are unsupported slots and scopes.
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
  std::span<const loops::ForKind> kinds;               // in addition to serial loops, which all targets support
  std::span<const std::string_view> thread_axes = {};  // axes for loops of kind `thread`
  std::int64_t most_lanes = loops::kMostLanes;         // iterations of a vectorized loop
  std::int64_t most_stages = loops::kMostStages;       // stages of a pipelined loop
  bool slots = false;                                  // slots of a buffer for several iterations
  // Supported buffer scopes in addition to the target's choice; nullopt: the target checks its scopes itself.
  std::optional<std::span<const std::string_view>> scopes = std::nullopt;
};

// Errors: every loop, slot and scope of the program that the target does not support, with its name, the target and the
// remedy.
Result<void> check_loops(const loops::Program& program, const LoopSupport& support);

}  // namespace dovetail

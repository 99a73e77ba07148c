// Accesses of a kernel's buffers moved elsewhere.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "loops/core/core.h"
#include "loops/threads/accesses.h"

namespace dovetail::loops {

// The buffer and the indices in place of those given, which lie inside of these thread loops.
using MoveAccess = std::function<std::pair<Buffer, std::vector<Expr>>(const Buffer& buffer, std::vector<Expr> indices,
                                                                      const std::vector<AroundThread>& around)>;
// `around`: thread loops around `core`.
Core rewrite_accesses(const Core& core, std::vector<AroundThread> around, const MoveAccess& move);

}  // namespace dovetail::loops

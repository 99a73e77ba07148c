// Redirects accesses of a kernel's buffers.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "loops/core/core.h"
#include "loops/threads/accesses.h"

namespace dovetail::loops {

// Returns the buffer and the indices that replace those given, which are inside these thread loops.
using MoveAccess = std::function<std::pair<Buffer, std::vector<Expr>>(const Buffer& buffer, std::vector<Expr> indices,
                                                                      const std::vector<AroundThread>& around)>;
// `around`: the thread loops around `core`.
Core rewrite_accesses(const Core& core, std::vector<AroundThread> around, const MoveAccess& move);

}  // namespace dovetail::loops

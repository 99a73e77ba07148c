// Inserts a thread's synchronization around asynchronous calls, so that operands are ready when a call reads them, and
// results when other statements read them.
#pragma once

#include <optional>

#include "loops/core/core.h"

namespace dovetail::loops {

// For each nest that contains only such calls:
//
//   for k { call wgmma(C, A[k], B[k]) }
//   ==>  arrive; for k { call ... }; commit; wait for all groups
//
// so that each is done before the next statement. If a pipelined loop starts later calls before earlier ones are done,
// pipeline_copies.h moves the wait.
Core complete_calls(const Core& core);

bool has_later_calls(const Core& core);
// The result of complete_calls, without the wait, for statements with one nest of calls: calls are still in flight when
// the statements end, and when they run again. Every other statement must be under a condition, and waits for all calls
// first. nullopt: a statement is not under a condition, or there is no nest of calls, or several.
std::optional<Core> with_calls_under_way(const Core& core);

}  // namespace dovetail::loops

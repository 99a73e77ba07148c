// Calls that complete later: inserts a thread's synchronization around them, so that their operands are ready when they
// read them and their results when others do.
#pragma once

#include <optional>

#include "loops/core/core.h"

namespace dovetail::loops {

// For each nest that contains only such calls:
//
//   for k { call wgmma(C, A[k], B[k]) }
//   ==>  arrive; for k { call ... }; commit; wait for all groups
//
// so that each is done before the next statement. If a pipeline lets later calls begin before earlier ones are done,
// pipeline_copies.h moves the wait.
Core complete_calls(const Core& core);

bool has_later_calls(const Core& core);
// The result of complete_calls for statements of which one is a nest of calls, without its wait: calls are in flight
// when the statements end, and when they begin again. The other statements, each under a condition, wait for all calls
// first. nullopt: there are other statements, which would always wait, or no nest, or several.
std::optional<Core> with_calls_under_way(const Core& core);

}  // namespace dovetail::loops

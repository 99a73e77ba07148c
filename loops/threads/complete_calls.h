// Calls that complete later: what a thread does around them, so that what they read is there and what they write is.
#pragma once

#include <optional>

#include "loops/core/core.h"

namespace dovetail::loops {

// Around each nest of such calls, and of nothing else:
//
//   for k { call wgmma(C, A[k], B[k]) }
//   ==>  arrive; for k { call ... }; commit; wait for all groups
//
// so that each is done before the next statement. Where a pipeline lets later calls begin before earlier ones are done,
// pipeline_copies.h moves the wait.
Core complete_calls(const Core& core);

bool has_later_calls(const Core& core);
// What complete_calls has made of statements of which one is a nest of calls, without its wait: calls are under way
// when it ends, and when it begins again. The other statements, each under a condition, wait for all calls first.
// nullopt: others are there, which would always wait, or no nest, or several.
std::optional<Core> with_calls_under_way(const Core& core);

}  // namespace dovetail::loops

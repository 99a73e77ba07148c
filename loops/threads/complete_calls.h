// Calls that complete later: what a thread does around them, so that what they read is there and what they write is.
#pragma once

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
// Parts of what complete_calls makes of one nest: arrive, the nest, commit, wait.
inline constexpr std::size_t kCompletedParts = 4;
// A sequence of these parts alone.
bool is_completed_nest(const Core& core);

}  // namespace dovetail::loops

// Gives the accelerator's memory another address: that of the block which a board reserves for it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::bundle {

inline constexpr std::uint64_t kMemoryGranule = 4096;  // a multiple of all elements, and of the bursts' border

// The bundle with the memory of its accelerator steps at `base`: segments, tensors and the addresses in instructions
// are moved, and everything else is as it was, also the time of each launch. Errors: `base` is not a multiple of
// kMemoryGranule, or the memory would end beyond the accelerator's addresses. Precondition: the bundle verifies.
Result<Bundle> with_memory_at(Bundle bundle, std::uint64_t base);

}  // namespace dovetail::bundle

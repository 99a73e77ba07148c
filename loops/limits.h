// The limits of each kind of loop on any machine. A target may have lower ones
// (compiler/target/support/loop_support.h).
#pragma once

#include <cstdint>

namespace dovetail::loops {

inline constexpr std::int64_t kMostLanes = 256;    // iterations of a vectorized loop
inline constexpr std::int64_t kMostCopies = 1024;  // copies of one statement by its enclosing unrolled loops
inline constexpr std::int64_t kMostStages = 64;    // stages of a pipelined loop

}  // namespace dovetail::loops

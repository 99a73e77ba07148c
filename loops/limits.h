// What a kind of loop allows on any machine. A target may take less and says so
// (compiler/target/support/loop_support.h).
#pragma once

#include <cstdint>

namespace dovetail::loops {

inline constexpr std::int64_t kMostLanes = 256;    // iterations of a vectorized loop
inline constexpr std::int64_t kMostCopies = 1024;  // of one statement, by the unrolled loops around it
inline constexpr std::int64_t kMostStages = 64;    // of a pipelined loop

}  // namespace dovetail::loops

// Measures how fast threads of this process read memory.
#pragma once

#include <cstdint>

namespace dovetail::runtime {

// Gigabytes per second: the best of several passes in which `threads` threads together read a buffer of this size,
// each thread its own part. A buffer that fits a cache is read from there. Sizes are at least a few cache lines for
// each thread, and at most 256 MiB, which no cache holds.
double measure_read_bandwidth(std::uint64_t bytes, int threads);

}  // namespace dovetail::runtime

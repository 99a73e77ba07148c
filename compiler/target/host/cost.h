// Estimated cost of steps on the host: docs/explanation/partition.md states the model. Targets that transfer tensors to
// the host and back use it for their borders.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::host {

inline constexpr double kMemoryBytesPerSecond = 10e9;  // bandwidth of one core, beyond its caches
inline constexpr double kKernelSeconds = 1e-6;         // time to start a kernel
inline constexpr double kInterpretedOperationsPerSecond = 200e6;

// Kernels on one core that overlap computing and memory traffic; the slower of the two determines the time.
double estimate_seconds(std::size_t kernels, std::uint64_t operations, std::uint64_t bytes,
                        double operations_per_second);

}  // namespace dovetail::host

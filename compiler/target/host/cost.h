// What steps on the host cost, estimated: docs/explanation/partition.md states the model. Targets that bring tensors to
// the host and back estimate their borders by it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::host {

inline constexpr double kMemoryBytesPerSecond = 10e9;  // of one core, beyond its caches
inline constexpr double kKernelSeconds = 1e-6;         // of starting a kernel
inline constexpr double kInterpretedOperationsPerSecond = 200e6;

// Kernels on one core that compute and move at the same time; the slower of the two counts.
double estimate_seconds(std::size_t kernels, std::uint64_t operations, std::uint64_t bytes,
                        double operations_per_second);

}  // namespace dovetail::host

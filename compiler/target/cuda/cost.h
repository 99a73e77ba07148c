// What kernels and copies are thought to take, for the partition alone (docs/partition.md): of a large GPU, from its
// data sheet. Nothing here was measured.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::cuda {

double estimate_seconds(std::size_t nodes, std::uint64_t operations, std::uint64_t bytes);
double estimate_copy_seconds(std::uint64_t bytes);  // between the host and the device

}  // namespace dovetail::cuda

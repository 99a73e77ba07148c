// What kernels and copies are thought to take, for the partition alone (docs/partition.md): of a large GPU, from its
// data sheet. Nothing here was measured.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace dovetail::gpu {

double estimate_seconds(std::size_t nodes, std::uint64_t operations, std::uint64_t bytes);
// Of one operation of NVIDIA's libraries, on elements of that type.
double estimate_library_seconds(DType type, std::uint64_t operations, std::uint64_t bytes);
double estimate_copy_seconds(std::uint64_t bytes);  // between the host and the device

}  // namespace dovetail::gpu

// Shared by all GPU targets: estimated times of kernels and copies on a large GPU, from its data sheet, used only for
// the partition (docs/explanation/partition.md), and the tolerance of TF32. Nothing here was measured.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace dovetail::gpu {

double estimate_seconds(std::size_t nodes, std::uint64_t operations, std::uint64_t bytes);
// One operation of NVIDIA's libraries on elements of that type.
double estimate_library_seconds(DType type, std::uint64_t operations, std::uint64_t bytes);
double estimate_copy_seconds(std::uint64_t bytes);  // between the host and the device

// Maximum difference from the reference if float32 factors are rounded to TF32's 11 bits, relative to a tensor's
// largest element: 2 * 2^-11 per product, over a few layers.
inline constexpr double kTf32Tolerance = 4e-3;

}  // namespace dovetail::gpu

// What all targets of GPUs share: what kernels and copies are thought to take, for the partition alone
// (docs/explanation/partition.md), of a large GPU, from its data sheet, and the tolerance of TF32. Nothing here was
// measured.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace dovetail::gpu {

double estimate_seconds(std::size_t nodes, std::uint64_t operations, std::uint64_t bytes);
// Of one operation of NVIDIA's libraries, on elements of that type.
double estimate_library_seconds(DType type, std::uint64_t operations, std::uint64_t bytes);
double estimate_copy_seconds(std::uint64_t bytes);  // between the host and the device

// How far results may be from the reference's where factors of float32 are rounded to TF32's 11 bits, as a part of a
// tensor's largest element: 2 * 2^-11 of each product, and a few layers of them.
inline constexpr double kTf32Tolerance = 4e-3;

}  // namespace dovetail::gpu

#include "compiler/target/support/gpu_cost.h"

#include <algorithm>

namespace dovetail::gpu {

namespace {

constexpr double kLaunchSeconds = 4e-6;
// A quarter of the float32 peak of an H100 SXM outside its tensor cores, and half of its memory bandwidth (NVIDIA H100
// data sheet: 67 TFLOP/s, 3.35 TB/s).
constexpr double kOperationsPerSecond = 67e12 / 4, kBytesPerSecond = 3.35e12 / 2;
// Half of the peak for a library's kernels: float32 as above, 16-bit floats and bytes in tensor cores without sparsity
// (same data sheet: 989 TFLOP/s, 1,979 TOP/s).
constexpr double kLibraryOperationsPerSecond = 67e12 / 2, kTensorCoreOperationsPerSecond = 989e12 / 2,
                 kTensorCoreByteOperationsPerSecond = 1979e12 / 2;
constexpr double kCopyBytesPerSecond = 20e9,
                 kCopySeconds = 10e-6;  // PCI Express 4.0 x16, from memory that is not pinned

}  // namespace

double estimate_seconds(std::size_t nodes, std::uint64_t operations, std::uint64_t bytes) {
  return kLaunchSeconds * static_cast<double>(nodes) +
         std::max(static_cast<double>(operations) / kOperationsPerSecond, static_cast<double>(bytes) / kBytesPerSecond);
}

double estimate_library_seconds(DType type, std::uint64_t operations, std::uint64_t bytes) {
  const double rate = type == DType::int8                                 ? kTensorCoreByteOperationsPerSecond
                      : type == DType::float16 || type == DType::bfloat16 ? kTensorCoreOperationsPerSecond
                                                                          : kLibraryOperationsPerSecond;
  return kLaunchSeconds +
         std::max(static_cast<double>(operations) / rate, static_cast<double>(bytes) / kBytesPerSecond);
}

double estimate_copy_seconds(std::uint64_t bytes) {
  return kCopySeconds + static_cast<double>(bytes) / kCopyBytesPerSecond;
}

}  // namespace dovetail::gpu

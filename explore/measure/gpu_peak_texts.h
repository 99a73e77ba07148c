// The source text of kernels that measure the peak rates of a GPU (gpu_peak.h).
#pragma once

#include <cstdint>
#include <string>

#include "compiler/target/cuda/intrinsics.h"

namespace dovetail::explore {

inline constexpr std::uint64_t kPeakThreads = 256, kPeakChains = 8,
                               kPeakSteps = 512;  // steps: multiply-adds of a chain
inline constexpr std::uint64_t kBytesOfPeakThread = 16;

// multiply(out): as many chains as hide the latency of a multiply-add.
std::string multiply_text();
// copy(to, from): each thread copies sixteen bytes.
std::string copy_text();

// A kernel with one kind of tensor core instruction, in chains that each add to their own sums: NAME(out, steps), with
// the number of steps in memory.
struct TensorPeak {
  std::string name, text;
  std::uint64_t threads = 0, shared_bytes = 0;
  std::uint64_t operations = 0;  // per block and step; a multiply-add counts as two
};
// Factors have the same magnitude with random signs and lower bits, since the power of a processor, and so its clock,
// depends on them.
TensorPeak tensor_peak(const cuda::MatrixMultiply& mma);

}  // namespace dovetail::explore

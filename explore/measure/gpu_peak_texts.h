// Kernels that do nothing but what a ceiling of a GPU is measured by (gpu_peak.h), as text.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/target/cuda/intrinsics.h"

namespace dovetail::explore {

inline constexpr std::uint64_t kPeakThreads = 256, kPeakChains = 8, kPeakSteps = 512;  // multiply-adds of a chain
inline constexpr std::uint64_t kBytesOfPeakThread = 16;

// multiply(out): as many chains as hide the latency of a multiply-add.
std::string multiply_text();
// copy(to, from): sixteen bytes a thread at a time.
std::string copy_text();

// A kernel of one instruction of the tensor cores, in chains on its own sums: NAME(out, steps), with the number of
// steps in memory.
struct TensorPeak {
  std::string name, text;
  std::uint64_t threads = 0, shared_bytes = 0;
  std::uint64_t operations = 0;  // of a block in a step, a multiply-add counted as two
};
// Factors are of one magnitude, with any signs and bits after the first, as what a processor
// takes, and so its clock, depends on them.
TensorPeak tensor_peak(const cuda::MatrixMultiply& mma);

}  // namespace dovetail::explore

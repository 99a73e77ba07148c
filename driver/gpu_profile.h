// Steps on a GPU: their work, ceilings measured on the device, and the resources that each kernel uses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explore/measure/gpu_peak.h"
#include "runtime/device.h"
#include "runtime/executor.h"

namespace dovetail::driver {

struct GpuStep {
  std::uint64_t operations = 0;               // operations of its nodes; a multiply-add counts as two
  std::uint64_t bytes = 0;                    // bytes of its arguments and results, each once
  std::string numbers = {};                   // the type of its first argument, which selects the ceiling
  std::vector<runtime::KernelFacts> kernels;  // generated kernels, without those of libraries
};

struct GpuProfile {
  std::map<std::size_t, GpuStep> steps;  // by their index in the program; empty: no step runs on a GPU
  std::optional<explore::GpuPeak> peak;
  std::string why;  // why there are no ceilings
};
// The profile of the last run. Measures the ceilings if the program has steps on the GPU.
GpuProfile gpu_profile(const runtime::Executor& executor);

}  // namespace dovetail::driver

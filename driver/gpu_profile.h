// Steps on a GPU: their work, ceilings that are measured on the device, and what each kernel takes of a processor.
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
  std::uint64_t operations = 0;               // of its nodes, a multiply-add counted as two
  std::uint64_t bytes = 0;                    // of its arguments and results, each once
  std::string numbers = {};                   // the type of its first argument: whose ceiling it is compared with
  std::vector<runtime::KernelFacts> kernels;  // of ours; a library's are its own affair
};

struct GpuProfile {
  std::map<std::size_t, GpuStep> steps;  // by their index in the program; empty: none runs on a GPU
  std::optional<explore::GpuPeak> peak;
  std::string why;  // why there are no ceilings
};
// The profile of the last run. Measures the ceilings if the program has steps on the GPU.
GpuProfile gpu_profile(const runtime::Executor& executor);

}  // namespace dovetail::driver

// What a GPU can do at most, measured: multiply-adds between registers on all of its processors, and copies of more
// memory than its caches hold. The kernels are compiled by NVRTC when they are asked for.
#pragma once

#include "base/result.h"

namespace dovetail::explore {

struct GpuPeak {
  double float32_operations = 0;  // a second; a multiply-add is two. Outside of tensor cores
  double bytes = 0;               // a second, read and written
};

// Error: there is no GPU, no NVRTC, or too little memory.
Result<GpuPeak> measure_gpu_peak();

}  // namespace dovetail::explore

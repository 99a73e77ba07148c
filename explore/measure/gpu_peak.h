// Measures the peak rates of a GPU: multiply-adds between registers on all of its processors, products of its tensor
// cores from registers or shared memory, and copies of more memory than its caches hold. NVRTC compiles the kernels on
// demand.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace dovetail::explore {

struct GpuPeak {
  double float32_operations = 0;  // per second, without tensor cores; a multiply-add counts as two
  // By type of the factors: float16, bfloat16, tf32, int8. Empty: the GPU has no tensor cores.
  std::map<std::string, double> tensor_operations;
  double bytes = 0;  // per second, read and written
};

// Error: there is no GPU, no NVRTC, or too little memory.
Result<GpuPeak> measure_gpu_peak();

}  // namespace dovetail::explore

// What a GPU can do at most, measured: multiply-adds between registers on all of its processors, products of its tensor
// cores from registers or shared memory, and copies of more memory than its caches hold. The kernels are compiled by
// NVRTC when they are asked for.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace dovetail::explore {

struct GpuPeak {
  double float32_operations = 0;  // a second; a multiply-add is two. Outside of tensor cores
  // By factors as they are multiplied: float16, bfloat16, tf32, int8. Empty: it has no tensor cores.
  std::map<std::string, double> tensor_operations;
  double bytes = 0;  // a second, read and written
};

// Error: there is no GPU, no NVRTC, or too little memory.
Result<GpuPeak> measure_gpu_peak();

}  // namespace dovetail::explore

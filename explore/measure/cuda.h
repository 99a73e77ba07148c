// Measures schedules of CUDA tasks: their kernels run on this machine's GPU in a child process, paired with the default
// schedule's kernels. A kernel that breaks a rule ends only the child's use of the device. This process
// compiles and never calls the driver, so that its children can.
//
//   arguments, reference, right   as for the CPU (explore/measure/cpu.h)
//   cost                          median of ratios of its time to the default's, each over many runs timed by the
//                                 device's events; times the default's time when the task's measurer was made
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/ndarray.h"
#include "base/result.h"
#include "base/work.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/tune/measure.h"

namespace dovetail::explore {

struct CudaMeasureOptions {
  double limit_seconds = 20;    // limit for all runs of a candidate in its process
  double timing_seconds = 0.1;  // approximate time of the timed runs
  std::uint64_t seed = 1;       // seed of the arguments
  const Work* work =
      nullptr;  // when it is stopped, measuring ends at once, and remaining candidates count as timed out
  // Called in the child after a candidate's first run, if not null. Tests pass functions that crash, hang, or change
  // the results.
  std::function<void(const schedule::Scheduled& candidate, std::span<NdArray> results)> after_run = nullptr;
};

std::string cuda_machine(const std::string& device_name, int capability);  // Measurer::machine

// The architectures in `gpu` whose kernels this machine's device runs. `compile` schedules each architecture
// separately, and tuning is for this device only. A child process queries its capability. Error: there is no device.
Result<cuda::Gpu> narrowed_to_device(const cuda::Gpu& gpu);

// Errors of the returned function: the task is not for a GPU, there is no GPU or no NVRTC, the program cannot be run on
// random arguments, or the default schedule fails.
tune::MakeMeasurer make_cuda_measurer(const cuda::Gpu& gpu, const CudaMeasureOptions& options = {});

}  // namespace dovetail::explore

// Measures schedules of CUDA tasks: what they compile to runs on this machine's GPU in a child process, alongside the
// default schedule's kernels. A kernel that breaks a rule ends only the child's use of the device. This process
// compiles and never calls the driver, so that its children can.
//
//   arguments, reference, right   as for the CPU (explore/measure/cpu.h)
//   cost                          median of ratios of its time to the default's, each of many runs by the device's
//                                 events, times the default's time of when the task's measurer was made
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
  double limit_seconds = 20;    // of a candidate in its process, all its runs together
  double timing_seconds = 0.1;  // of those that are timed, about
  std::uint64_t seed = 1;       // of the arguments
  const Work* work = nullptr;   // where it is stopped, measuring ends at once; what is not measured then timed out
  // In the child, after a candidate's first run; null: nothing. Tests hand in what crashes, hangs, or changes the
  // results.
  std::function<void(const schedule::Scheduled& candidate, std::span<NdArray> results)> after_run = nullptr;
};

std::string cuda_machine(const std::string& device_name, int capability);  // Measurer::machine

// What `compile` schedules for several architectures apart is tuned for those of the device that is here, whose
// capability a child asks for: of `gpu`, the architectures whose kernels it runs. Error: there is no device.
Result<cuda::Gpu> narrowed_to_device(const cuda::Gpu& gpu);

// Errors of what it makes: the task is none of the GPU's, there is no GPU or no NVRTC, the program cannot be run on
// random arguments, the default schedule fails.
tune::MakeMeasurer make_cuda_measurer(const cuda::Gpu& gpu, const CudaMeasureOptions& options = {});

}  // namespace dovetail::explore

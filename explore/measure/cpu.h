// Measures schedules of CPU tasks: what they compile to runs in a child process on this machine, alongside the default
// schedule's kernel.
//
//   arguments   random (draw_arguments.h), constants too: a task has no values
//   reference   the task's program as it is, unscheduled: interpreted where that takes about a second at most, else
//               compiled without a schedule, its sums in the order of the definition (cpu::jit_evaluate). The code
//               generator's arithmetic is then trusted (tests compare it with the interpreter); the reference has none
//               of what is tested here: a schedule's loops, vectors, layouts and intrinsics
//   right       integers are equal; floats differ by at most kMachineCodeTolerance of the tensor's largest magnitude.
//               Integers that are rounded from sums of float products, which have no fixed order, may be one apart.
//               The results of the first run are compared and those of the last; results are filled with rubbish before
//   cost        ratio of its time to the default's (paired_times.h) times the default's time, of when the task's
//               measurer was made: costs of one measurer compare however the machine's clock has changed in between
//
// One kernel at a time is timed on a machine: a lock in the user's folder for state keeps measurers of all processes
// apart. Compiling is not, and disturbs others' timings.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/ndarray.h"
#include "base/work.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/tune/measure.h"
#include "explore/measure/paired_times.h"

namespace dovetail::explore {

struct CpuMeasureOptions {
  int threads = 1;              // that run a kernel; 0: one per processor
  double limit_seconds = 10;    // of a candidate in its process, all its runs together
  double timing_seconds = 0.1;  // of those that are timed, about
  std::uint64_t seed = 1;       // of the arguments
  int workers = 0;              // that compile; 0: one per processor
  const Work* work = nullptr;   // where it is stopped, measuring ends at once; what is not measured then timed out
  // What runs a candidate's kernel in the child. Null: calls it. Tests hand in what crashes, hangs, or changes the
  // results.
  using Run = std::function<void(const schedule::Scheduled& candidate, const std::function<void()>& kernel,
                                 std::span<NdArray> results)>;
  Run run = nullptr;
  Clocks clocks = machine_clocks();  // of the child
};

std::string cpu_machine(const cpu::Cpu& cpu, int threads);  // Measurer::machine

// Errors of what it makes: the task is none of the CPU's, the processor class is not this machine's, the program cannot
// be run on random arguments, the default schedule fails.
tune::MakeMeasurer make_cpu_measurer(const cpu::Cpu& cpu, const CpuMeasureOptions& options = {});

}  // namespace dovetail::explore

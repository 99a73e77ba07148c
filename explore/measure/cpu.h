// Measures schedules of CPU tasks: their machine code runs in a child process on this machine, paired with the default
// schedule's kernel.
//
//   arguments   random (draw_arguments.h), also for constants, since a task has no values
//   reference   the task's program as it is, unscheduled: interpreted if that takes at most about a second, else
//               compiled without a schedule, its sums in the order of the definition (cpu::jit_evaluate). The code
//               generator's arithmetic is then trusted (tests compare it with the interpreter); the reference does not
//               use what is tested here: a schedule's loops, vectors, layouts and intrinsics
//   right       integers are equal; floats differ by at most kMachineCodeTolerance of the tensor's largest magnitude.
//               Integers that are rounded from sums of float products, which have no fixed order, may be one apart.
//               The results of the first and the last run are compared; before, results are filled with arbitrary bytes
//   cost        ratio of its time to the default's (paired_times.h), times the default's time when the task's measurer
//               was made: costs of one measurer can be compared even if the machine's clock changes in between
//
// Only one kernel at a time is timed on a machine: a lock in the user's state folder serializes the measurers of all
// processes. Compiling is not serialized, and disturbs the timings of other processes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/work.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/tune/measure.h"
#include "explore/measure/paired_times.h"

namespace dovetail::explore {

struct CpuMeasureOptions {
  int threads = 1;                              // threads that run a kernel; 0: one per processor
  double limit_seconds = 10;                    // limit for all runs of a candidate in its process
  double timing_seconds = 0.1;                  // approximate time of the timed runs
  std::uint64_t seed = 1;                       // seed of the arguments
  std::vector<NdArray> arguments = {};          // inputs and constants in parameter order; none: random ones
  std::optional<schedule::Sketch> sketch = {};  // gives the default schedule; absent: the one of the task's kind
  int workers = 0;                              // threads that compile; 0: one per processor
  const Work* work =
      nullptr;  // when it is stopped, measuring ends at once, and remaining candidates count as timed out
  // Runs a candidate's kernel in the child. Null: calls the kernel. Tests pass functions that crash, hang, or change
  // the results.
  using Run = std::function<void(const schedule::Scheduled& candidate, const std::function<void()>& kernel,
                                 std::span<NdArray> results)>;
  Run run = nullptr;
  Clocks clocks = machine_clocks();  // clocks of the child
};

// Measurer::machine. The processor's model, the class that the code is made for, and the threads decide which schedule
// is the fastest: they identify the machine. Its clock and governor are recorded only (Measurer::conditions): a reboot
// or a setting changes them, and a cost counts relative to the default's in the same session, under the same
// conditions.
std::string cpu_machine(const cpu::Cpu& cpu, int threads);

// Errors of the returned function: the task is not for the CPU, this machine does not have the processor class, the
// program cannot be run on random arguments, or the default schedule fails.
tune::MakeMeasurer make_cpu_measurer(const cpu::Cpu& cpu, const CpuMeasureOptions& options = {});

}  // namespace dovetail::explore

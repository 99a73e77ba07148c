// Times a loop program on a target, and compares its rate with what the machine can do: its roofline (Williams,
// Waterman and Patterson, CACM 2009).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/comparison.h"
#include "driver/kernels/runner.h"
#include "driver/loop_program.h"
#include "driver/timed_program.h"
#include "runtime/peak.h"

namespace dovetail::driver {

// Rates of operations and of memory, and a kernel's operations per byte.
struct Roofline {
  double giga_operations = 0;  // per second, the peak
  double giga_bytes = 0;       // per second, the bandwidth
  double intensity = 0;        // operations per byte

  bool bound_by_memory() const { return giga_bytes * intensity < giga_operations; }
  double ridge() const { return giga_bytes > 0 ? giga_operations / giga_bytes : 0; }  // the intensity of both bounds
  double bound() const { return bound_by_memory() ? giga_bytes * intensity : giga_operations; }  // giga operations
};

struct LoopProfile {
  std::string target;
  int threads = 1;
  double operations = 0;    // of the program without its schedule: those that are asked for; 0: they depend on data
  std::uint64_t bytes = 0;  // of its parameters, which at least move
  Spread seconds = {};      // of runs after the first; of the accelerator, its cycles at its clock
  double packing_seconds = 0;
  std::optional<std::uint64_t> cycles = {};
  std::vector<TimedProgram> timed = {};    // of the accelerator
  std::optional<runtime::Peak> peak = {};  // of one core, in the type of the products; of other targets none
  std::optional<Roofline> roofline = {};   // absent: the peak of the target is not known
  double giga_operations() const { return seconds.median > 0 ? operations / seconds.median * 1e-9 : 0; }
};

struct LoopProfileOptions {
  RunnerOptions runner = {};
  std::int64_t repeat = 10;  // timed runs, after one run to warm up; the accelerator runs once, as its cycles are exact
};
// Errors: those of LoopRunner.
Result<LoopProfile> profile_loops(const LoopProgram& program, const std::string& target, const Tensors& inputs,
                                  const LoopProfileOptions& options);

// The bytes of a program's parameters.
std::uint64_t parameter_bytes(const loops::Program& program);

}  // namespace dovetail::driver

// The latency of a model from its input to its output: steps of the accelerator count their cycles divided by the
// clock, all other steps their time on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/report.h"
#include "driver/system.h"
#include "runtime/executor.h"

namespace dovetail::driver {

struct StepTime {
  std::string name, target;
  std::optional<std::uint64_t> cycles;  // cycles of an accelerator step, if the engine counts them
  double seconds = 0;  // time on the accelerator or on this machine; 0 for an accelerator step without cycles
  std::optional<double> simulating = std::nullopt;  // for an accelerator step, the time of the engine itself
};

// The steps of inner programs that these steps ran, recursively: each follows the step that ran it.
std::vector<const runtime::StepProfile*> inner_steps(std::span<const runtime::StepProfile> steps);

// Times of the steps, then of inner_steps(); the time of a step does not include its inner steps. `measured`: the
// measured time of each step, in the order of the steps. With several accelerators the times are for a batch of one
// sample each, whose other steps run on this machine one after the other.
std::vector<StepTime> step_times(std::span<const runtime::StepProfile> steps, std::span<const double> measured,
                                 const System& system);
std::vector<StepTime> step_times(const runtime::RunResult& run, const System& system);

struct Latency {
  std::uint64_t cycles = 0;
  double accelerator_seconds = 0, other_seconds = 0, simulating_seconds = 0;
  std::size_t regions = 0, others = 0;  // steps of the accelerator, and the rest
  bool complete = true;                 // all steps of the accelerator have cycles

  double seconds() const { return accelerator_seconds + other_seconds; }
};
Latency latency_of(std::span<const StepTime> steps);

// The share of each target in the time of all steps; empty if a step has no time, or the sum is 0.
std::map<std::string, double> time_shares(std::span<const StepTime> steps);

// The estimates of the compiler: time of the accelerator's regions (cycles divided by the clock), of the others, and of
// the borders.
struct Estimate {
  std::uint64_t cycles = 0;
  double accelerator = 0, others = 0, borders = 0;  // seconds
  std::size_t regions = 0, other_regions = 0;

  double seconds() const { return accelerator + others + borders; }
};
Estimate estimate_of(const PlacementSummary& summary);

}  // namespace dovetail::driver

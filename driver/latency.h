// How long a model takes from its input to its output: steps of the accelerator by their cycles and the clock, all
// others by the time that they took on this machine.
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
  std::optional<std::uint64_t> cycles;  // of the accelerator, where the engine counts them
  double seconds = 0;                   // on the accelerator or on this machine; of a step without cycles: of neither
  std::optional<double> simulating = std::nullopt;  // of an accelerator step: what the engine itself took
};

// Steps of the programs that these have run, and of theirs, as far as they have run: each after the step that ran it.
std::vector<const runtime::StepProfile*> inner_steps(std::span<const runtime::StepProfile> steps);

// First the steps, then inner_steps(); the time of a step that runs others is what it takes by itself. `measured`: the
// time of each step on this machine, in the order of the steps. Of several accelerators: of a batch
// with a sample for each, whose other steps this machine does one after the other.
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

// The part of each target in the time of all steps; empty where a step has no time, or all together have none.
std::map<std::string, double> time_shares(std::span<const StepTime> steps);

// What compiling expects: cycles of the accelerator's regions by the clock, the seconds of the others, and those of the
// borders.
struct Estimate {
  std::uint64_t cycles = 0;
  double accelerator = 0, others = 0, borders = 0;  // seconds
  std::size_t regions = 0, other_regions = 0;

  double seconds() const { return accelerator + others + borders; }
};
Estimate estimate_of(const PlacementSummary& summary);

}  // namespace dovetail::driver

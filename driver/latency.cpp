#include "driver/latency.h"

#include <algorithm>

#include <fmt/format.h>

#include "bundle/code/target_facts.h"

namespace dovetail::driver {

namespace {

void add_inner(const runtime::StepProfile& step, std::vector<const runtime::StepProfile*>& inner) {
  for (const auto& program : step.programs)
    for (const runtime::StepProfile& run : program) {
      if (run.runs == 0) continue;
      inner.push_back(&run);
      add_inner(run, inner);
    }
}

StepTime step_time(const runtime::StepProfile& step, double measured, const System& system) {
  for (const auto& program : step.programs)
    for (const runtime::StepProfile& run : program) measured -= run.seconds;
  measured = std::max(measured, 0.0);
  // The host computes the samples of a batch one after the other.
  StepTime time{step.name, step.target, std::nullopt, measured * static_cast<double>(system.samples())};
  if (bundle::has_clock(step.target)) {
    time.simulating = measured;
    time.seconds = 0;
    if (!step.launches.empty()) {
      time.cycles = 0;
      for (const runtime::TimedLaunch& launch : step.launches) *time.cycles += launch.trace.cycles;
      time.seconds = system.seconds(*time.cycles);
    }
  }
  return time;
}

}  // namespace

std::vector<const runtime::StepProfile*> inner_steps(std::span<const runtime::StepProfile> steps) {
  std::vector<const runtime::StepProfile*> inner;
  for (const runtime::StepProfile& step : steps) add_inner(step, inner);
  return inner;
}

std::vector<StepTime> step_times(std::span<const runtime::StepProfile> steps, std::span<const double> measured,
                                 const System& system) {
  std::vector<StepTime> times;
  for (std::size_t s = 0; s < steps.size(); ++s) times.push_back(step_time(steps[s], measured[s], system));
  for (const runtime::StepProfile* step : inner_steps(steps)) {
    times.push_back(step_time(*step, step->seconds, system));
    if (step->runs > 1) times.back().name += fmt::format(" ({} times)", step->runs);
  }
  return times;
}

std::vector<StepTime> step_times(const runtime::RunResult& run, const System& system) {
  std::vector<double> measured;
  for (const runtime::StepProfile& step : run.steps) measured.push_back(step.seconds);
  return step_times(run.steps, measured, system);
}

std::map<std::string, double> time_shares(std::span<const StepTime> steps) {
  const Latency latency = latency_of(steps);
  const double total = latency.seconds();
  std::map<std::string, double> shares;
  if (!latency.complete || !(total > 0)) return shares;
  for (const StepTime& step : steps) shares[step.target] += step.seconds / total;
  return shares;
}

Latency latency_of(std::span<const StepTime> steps) {
  Latency latency;
  for (const StepTime& step : steps) {
    if (!step.simulating) {
      latency.other_seconds += step.seconds;
      ++latency.others;
      continue;
    }
    latency.cycles += step.cycles.value_or(0);
    latency.accelerator_seconds += step.seconds;
    latency.simulating_seconds += *step.simulating;
    latency.complete &= step.cycles.has_value();
    ++latency.regions;
  }
  return latency;
}

Estimate estimate_of(const PlacementSummary& summary) {
  Estimate sum;
  for (const RegionSummary& region : summary.regions) {
    const bool accelerated = bundle::has_clock(region.target);
    (accelerated ? sum.accelerator : sum.others) += region.cost.seconds;
    ++(accelerated ? sum.regions : sum.other_regions);
    sum.cycles += region.cost.cycles;
    sum.borders += region.border_seconds;
  }
  return sum;
}

}  // namespace dovetail::driver

#include "cli/latency.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/text_table.h"
#include "bundle/code/accel.h"

namespace dovetail::cli {

namespace {

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// A line below the latency; nothing where no step is the accelerator's.
std::string accelerator_text(std::uint64_t cycles, double seconds, const System& system, std::size_t count,
                             std::string_view what) {
  if (count == 0) return {};
  return fmt::format("  accelerator {} cycles = {} at {:.6g} MHz, in {}\n", with_separators(cycles),
                     milliseconds_text(seconds), system.clock_mhz, counted(count, what));
}

// Infinity is no JSON.
Json per_second(double seconds) { return seconds > 0 ? Json(1 / seconds) : Json(nullptr); }

}  // namespace

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
  // The host has one sample after the other.
  StepTime time{step.name, step.target, std::nullopt, measured * static_cast<double>(system.accelerators)};
  if (step.target == bundle::kAccelTarget) {
    time.simulating = measured;
    time.seconds = 0;
    if (!step.launches.empty()) {
      time.cycles = 0;
      for (const simulator::LaunchTrace& launch : step.launches) *time.cycles += launch.cycles;
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

std::string time_shares_text(std::span<const StepTime> steps) {
  std::string parts;
  for (const auto& [target, share] : time_shares(steps))
    parts += fmt::format("{}{:.2f} % {}", parts.empty() ? "" : ", ", 100 * share, target);
  return parts.empty() ? parts : fmt::format("time          {} of all steps\n", parts);
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

std::string milliseconds_text(double seconds) {
  const double ms = seconds * 1e3;
  if (ms >= 1000) return fmt::format("{:.0f} ms", ms);
  return ms >= 1e-3 ? fmt::format("{:.4g} ms", ms) : fmt::format("{:.7f} ms", ms);
}

std::string rate_text(double seconds) {
  if (seconds <= 0) return "-";
  const double rate = 1 / seconds;
  return rate >= 100 ? with_separators(static_cast<std::uint64_t>(std::llround(rate))) : fmt::format("{:.4g}", rate);
}

std::string cycles_text(std::uint64_t cycles, double clock_mhz) {
  const double seconds = static_cast<double>(cycles) / (clock_mhz * 1e6);
  return fmt::format("{} cycles = {} at {:.6g} MHz, {} a second", with_separators(cycles), milliseconds_text(seconds),
                     clock_mhz, rate_text(seconds));
}

std::string latency_text(const Latency& latency, const System& system, std::string_view how) {
  if (!latency.complete) return "latency       unknown: the engine counts no cycles; --engine cycle does\n";
  std::string text = fmt::format("latency       {}, {} inferences a second\n", milliseconds_text(latency.seconds()),
                                 rate_text(latency.seconds() / static_cast<double>(system.accelerators)));
  if (system.accelerators > 1)
    text += fmt::format("  batch       {} samples, one on each accelerator\n", system.accelerators);
  text += accelerator_text(latency.cycles, latency.accelerator_seconds, system, latency.regions, "step");
  if (latency.others > 0)
    text += fmt::format("  host        {} in {} on this machine, {}\n", milliseconds_text(latency.other_seconds),
                        counted(latency.others, "step"),
                        system.accelerators == 1 ? std::string(how) : fmt::format("{}, for each sample", how));
  if (latency.regions > 0)
    text +=
        fmt::format("  simulating  took {}, which is no part of it\n", milliseconds_text(latency.simulating_seconds));
  return text;
}

Json latency_json(const Latency& latency, const System& system) {
  if (!latency.complete) return nullptr;
  return {{"cycles", latency.cycles},
          {"clock_mhz", system.clock_mhz},
          {"accelerator_ms", latency.accelerator_seconds * 1e3},
          {"other_ms", latency.other_seconds * 1e3},
          {"ms", latency.seconds() * 1e3},
          {"inferences_per_second", per_second(latency.seconds() / static_cast<double>(system.accelerators))},
          {"regions", latency.regions},
          {"other_steps", latency.others},
          {"simulating_ms", latency.simulating_seconds * 1e3}};
}

void add_time(Json& step, const StepTime& time) {
  if (time.cycles) step["cycles"] = *time.cycles;
  if (time.cycles || !time.simulating) step["ms"] = time.seconds * 1e3;
  if (time.simulating) step["simulating_ms"] = *time.simulating * 1e3;
}

namespace {

struct Estimate {
  std::uint64_t cycles = 0;
  double accelerator = 0, others = 0, borders = 0;  // seconds
  std::size_t regions = 0, other_regions = 0;

  double seconds() const { return accelerator + others + borders; }
};

Estimate estimate_of(const PlacementSummary& summary) {
  Estimate sum;
  for (const RegionSummary& region : summary.regions) {
    const bool accelerated = region.target == bundle::kAccelTarget;
    (accelerated ? sum.accelerator : sum.others) += region.cost.seconds;
    ++(accelerated ? sum.regions : sum.other_regions);
    sum.cycles += region.cost.cycles;
    sum.borders += region.border_seconds;
  }
  return sum;
}

}  // namespace

std::string estimate_text(const PlacementSummary& summary, const System& system) {
  const Estimate sum = estimate_of(summary);
  if (sum.regions + sum.other_regions == 0) return {};
  std::string text = fmt::format("estimate      {}, {} inferences a second\n", milliseconds_text(sum.seconds()),
                                 rate_text(sum.seconds()));
  text += accelerator_text(sum.cycles, sum.accelerator, system, sum.regions, "region");
  if (sum.other_regions > 0)
    text +=
        fmt::format("  host        {} in {}\n", milliseconds_text(sum.others), counted(sum.other_regions, "region"));
  if (system.accelerators > 1)
    text += "  of          one accelerator alone: `run --engine cycle` measures several that share the memory\n";
  if (sum.borders > 0) text += fmt::format("  borders     {}\n", milliseconds_text(sum.borders));
  return text + "\n";
}

Json estimate_json(const PlacementSummary& summary, const System& system) {
  const Estimate sum = estimate_of(summary);
  return {{"cycles", sum.cycles},
          {"clock_mhz", system.clock_mhz},
          {"accelerator_ms", sum.accelerator * 1e3},
          {"other_ms", sum.others * 1e3},
          {"border_ms", sum.borders * 1e3},
          {"ms", sum.seconds() * 1e3},
          {"inferences_per_second", per_second(sum.seconds())}};
}

}  // namespace dovetail::cli

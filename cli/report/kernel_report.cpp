#include "cli/report/kernel_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

std::string giga_rate(double giga_operations) { return fmt::format("{:.3g} GOP/s", giga_operations); }

// A line of the roofline's picture: the rate at an intensity, on a logarithmic scale below the peak.
std::string share_bar(double share) {
  constexpr double kColumns = 40;
  const auto full = static_cast<std::size_t>(std::lround(kColumns * std::clamp(share, 0.0, 1.0)));
  return std::string(full, '#') + std::string(static_cast<std::size_t>(kColumns) - full, '.');
}

std::string kernel_roofline(const driver::LoopProfile& profile) {
  const driver::Roofline& roofline = *profile.roofline;
  const double reached = profile.giga_operations();
  std::string text;
  const std::string instruction = profile.peak ? fmt::format(" ({}, {} thread{})", profile.peak->instruction,
                                                             profile.threads, profile.threads == 1 ? "" : "s")
                                               : "";
  text += entry("peak", giga_rate(roofline.giga_operations) + instruction);
  text += entry("bandwidth", fmt::format("{:.3g} GB/s{}", roofline.giga_bytes,
                                         profile.peak ? fmt::format(", reads of {}, as large as the parameters",
                                                                    driver::bytes_text(profile.bytes))
                                                      : ", reads and writes together"));
  text += entry("intensity",
                fmt::format("{:.3g} operations a byte; the peak needs {:.3g}", roofline.intensity, roofline.ridge()));
  text += entry("bound", fmt::format("{}: at most {}", roofline.bound_by_memory() ? "memory" : "arithmetic",
                                     giga_rate(roofline.bound())));
  const double share = roofline.bound() > 0 ? reached / roofline.bound() : 0;
  return text + entry("reached", fmt::format("[{}] {:.1f} % of the bound", share_bar(share), 100 * share));
}

}  // namespace

std::string kernel_profile_text(const driver::LoopProfile& profile, const driver::System& system) {
  std::string text;
  if (profile.cycles)
    text += entry("cycles", fmt::format("{}, {} at {:.4g} MHz", with_separators(*profile.cycles),
                                        driver::seconds_text(profile.seconds.median), system.clock_mhz));
  else
    text +=
        entry("time", fmt::format("{}, from {} to {} in {} run{}", driver::seconds_text(profile.seconds.median),
                                  driver::seconds_text(profile.seconds.low), driver::seconds_text(profile.seconds.high),
                                  profile.seconds.runs, profile.seconds.runs == 1 ? "" : "s"));
  if (profile.packing_seconds > 0)
    text += entry("packing", fmt::format("{} more, to copy tensors into the layouts of the schedule",
                                         driver::seconds_text(profile.packing_seconds)));
  const std::string moved = fmt::format("at least {} moved", driver::bytes_text(profile.bytes));
  text += entry("work", profile.operations > 0
                            ? fmt::format("{} operations, {}: {}",
                                          with_separators(static_cast<std::uint64_t>(profile.operations)), moved,
                                          giga_rate(profile.giga_operations()))
                            : "operations that depend on data, " + moved);
  if (profile.roofline) text += kernel_roofline(profile);
  if (!profile.timed.empty()) {
    text += timing_summary(profile.timed, system);
    const driver::TimedProgram& timed = profile.timed.front();
    const simulator::Profile cycles = profile_of(timed, trace_of(std::span(&timed, 1)), system.memory);
    text += "\n" + unit_table(cycles.classes, cycles_of(timed)) + "\n" + compute_table(cycles);
  }
  return text;
}

Json kernel_profile_json(const driver::LoopProfile& profile, const driver::System& system) {
  Json json{{"target", profile.target},
            {"threads", profile.threads},
            {"operations", profile.operations},
            {"bytes", profile.bytes},
            {"runs", profile.seconds.runs},
            {"seconds", profile.seconds.median},
            {"seconds_low", profile.seconds.low},
            {"seconds_high", profile.seconds.high},
            {"packing_seconds", profile.packing_seconds},
            {"gop_per_s", profile.giga_operations()}};
  if (profile.cycles) json["cycles"] = *profile.cycles;
  if (profile.peak) json["peak"] = runtime::to_json(*profile.peak);
  if (profile.roofline)
    json["roofline"] = {{"peak_gop_per_s", profile.roofline->giga_operations},
                        {"gb_per_s", profile.roofline->giga_bytes},
                        {"operations_per_byte", profile.roofline->intensity},
                        {"bound", profile.roofline->bound_by_memory() ? "memory" : "arithmetic"},
                        {"bound_gop_per_s", profile.roofline->bound()}};
  if (!profile.timed.empty()) json["timing"] = timing_json(profile.timed.front(), system);
  return json;
}

Json kernel_tuning_json(const driver::TunedLoops& tuned, const std::string& target, double operations) {
  const tune::TaskResult& result = tuned.result;
  const auto outcomes = [&](tune::Outcome outcome) {
    return std::ranges::count(result.trials, outcome, &tune::Trial::outcome);
  };
  return {{"target", target},
          {"space", tuned.space},
          {"unit", result.unit},
          {"operations", operations},
          {"default_cost", result.default_cost},
          {"best_cost", result.best_cost},
          {"default_decisions", result.default_decisions},
          {"best_decisions", result.best_decisions},
          {"trials", result.trials.size()},
          {"wrong", outcomes(tune::Outcome::wrong)},
          {"failed", outcomes(tune::Outcome::crashed) + outcomes(tune::Outcome::timed_out)},
          {"illegal", tuned.illegal},
          {"ended", result.ended},
          {"schedule", tuned.schedule}};
}

}  // namespace dovetail::cli

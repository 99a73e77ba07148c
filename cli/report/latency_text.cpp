#include "cli/report/latency_text.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text_table.h"
#include "driver/system.h"

namespace dovetail::cli {

namespace {

std::string count_text(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// A line below the latency; empty if no step runs on the accelerator.
std::string accelerator_text(std::uint64_t cycles, double seconds, const driver::System& system, std::size_t count,
                             std::string_view what) {
  if (count == 0) return {};
  return fmt::format("  accelerator {} cycles = {} at {:.6g} MHz, in {}\n", with_separators(cycles),
                     milliseconds_text(seconds), system.clock_mhz, count_text(count, what));
}

// null instead of infinity, which JSON does not have.
Json per_second(double seconds) { return seconds > 0 ? Json(1 / seconds) : Json(nullptr); }

}  // namespace

std::string time_shares_text(std::span<const driver::StepTime> steps) {
  std::string parts;
  for (const auto& [target, share] : time_shares(steps))
    parts += fmt::format("{}{:.2f} % {}", parts.empty() ? "" : ", ", 100 * share, target);
  return parts.empty() ? parts : fmt::format("time          {} of the time of all steps\n", parts);
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
  return fmt::format("{} cycles = {} at {:.6g} MHz, {}/s", with_separators(cycles), milliseconds_text(seconds),
                     clock_mhz, rate_text(seconds));
}

std::string latency_text(const driver::Latency& latency, const driver::System& system, std::string_view how) {
  if (!latency.complete) return "latency       unknown: the engine does not count cycles; --engine cycle does\n";
  std::string text = fmt::format("latency       {}, {} inferences/s\n", milliseconds_text(latency.seconds()),
                                 rate_text(latency.seconds() / static_cast<double>(system.samples())));
  if (system.samples() > 1)
    text += fmt::format("  batch       {} samples, one on each accelerator\n", system.samples());
  text += accelerator_text(latency.cycles, latency.accelerator_seconds, system, latency.regions, "step");
  if (latency.others > 0)
    text += fmt::format("  host        {} in {} on this machine, {}\n", milliseconds_text(latency.other_seconds),
                        count_text(latency.others, "step"),
                        system.samples() == 1 ? std::string(how) : fmt::format("{}, for each sample", how));
  if (latency.regions > 0)
    text += fmt::format("  simulating  took {} (not included)\n", milliseconds_text(latency.simulating_seconds));
  return text;
}

Json latency_json(const driver::Latency& latency, const driver::System& system) {
  if (!latency.complete) return nullptr;
  return {{"cycles", latency.cycles},
          {"clock_mhz", system.clock_mhz},
          {"accelerator_ms", latency.accelerator_seconds * 1e3},
          {"other_ms", latency.other_seconds * 1e3},
          {"ms", latency.seconds() * 1e3},
          {"inferences_per_second", per_second(latency.seconds() / static_cast<double>(system.samples()))},
          {"regions", latency.regions},
          {"other_steps", latency.others},
          {"simulating_ms", latency.simulating_seconds * 1e3}};
}

void add_time(Json& step, const driver::StepTime& time) {
  if (time.cycles) step["cycles"] = *time.cycles;
  if (time.cycles || !time.simulating) step["ms"] = time.seconds * 1e3;
  if (time.simulating) step["simulating_ms"] = *time.simulating * 1e3;
}

std::string estimate_text(const PlacementSummary& summary, const driver::System& system) {
  const driver::Estimate sum = driver::estimate_of(summary);
  if (sum.regions + sum.other_regions == 0) return {};
  std::string text =
      fmt::format("estimate      {}, {} inferences/s\n", milliseconds_text(sum.seconds()), rate_text(sum.seconds()));
  text += accelerator_text(sum.cycles, sum.accelerator, system, sum.regions, "region");
  if (sum.other_regions > 0)
    text +=
        fmt::format("  host        {} in {}\n", milliseconds_text(sum.others), count_text(sum.other_regions, "region"));
  if (system.accelerators > 1)
    text += system.divides_samples()
                ? "  for         one accelerator alone, undivided: `run --engine cycle` measures several\n"
                : "  for         one accelerator alone: `run --engine cycle` measures several that share the memory\n";
  if (sum.borders > 0) text += fmt::format("  borders     {}\n", milliseconds_text(sum.borders));
  return text + "\n";
}

Json estimate_json(const PlacementSummary& summary, const driver::System& system) {
  const driver::Estimate sum = driver::estimate_of(summary);
  return {{"cycles", sum.cycles},
          {"clock_mhz", system.clock_mhz},
          {"accelerator_ms", sum.accelerator * 1e3},
          {"other_ms", sum.others * 1e3},
          {"border_ms", sum.borders * 1e3},
          {"ms", sum.seconds() * 1e3},
          {"inferences_per_second", per_second(sum.seconds())}};
}

}  // namespace dovetail::cli

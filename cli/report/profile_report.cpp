#include "cli/report/profile_report.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/divided_text.h"
#include "cli/report/energy_text.h"
#include "cli/report/gpu_text.h"
#include "cli/report/latency_text.h"
#include "cli/report/system_text.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "cli/report/work_shares_text.h"
#include "driver/latency.h"
#include "driver/timed_program.h"
#include "driver/value_text.h"
#include "driver/work_shares.h"

namespace dovetail::cli {

namespace {

// The rates of the accelerator; empty if they are not known.
std::string rates_text(const driver::Profile& profile) {
  const auto rates = profile.rates();
  if (!rates) return "";
  return entry("rates", fmt::format("{:.3g} TOPS and {:.3g} W in the accelerator's time: {:.3g} TOPS/W", rates->tops,
                                    rates->watts, rates->tops_per_w));
}
Json rates_json(const driver::Profile& profile) {
  const auto rates = profile.rates();
  if (!rates) return nullptr;
  return {{"tops", rates->tops}, {"watts", rates->watts}, {"tops_per_w", rates->tops_per_w}};
}

// Where the model's nodes and multiplications run; empty for a bundle, which does not record it.
std::string of_model_text(const driver::Session& session, const driver::Profile& profile) {
  if (session.model() == nullptr) return {};
  const Compiled& compiled = session.model()->compiled;
  return host_text(compiled.placement, compiled.summary, time_shares(profile.times())) + macs_text(compiled.summary) +
         left_text(driver::left_accelerator(compiled.placement, compiled.summary, session.model()->targets));
}

std::string steps_text(const driver::Session& session, const driver::Profile& profile) {
  const double total = profile.latency.seconds();
  double operations = 0;
  for (const driver::ProfiledStep& row : profile.steps)
    if (row.kernel) operations += static_cast<double>(row.kernel->operations);
  std::string out = fmt::format("profiled      {}, {} runs, {} threads\n", session.options().model.title(),
                                profile.repeat, profile.threads);
  if (profile.latency.regions > 0 && profile.latency.complete) out += system_text(session.system());
  out += of_model_text(session, profile);
  out += time_shares_text(profile.times());
  out += fmt::format("peak          {:.0f} GFLOP/s float32 ({}), {:.0f} GOP/s int8 ({}), one core\n\n",
                     profile.float32_peak.giga_operations, profile.float32_peak.instruction,
                     profile.int8_peak.giga_operations, profile.int8_peak.instruction);
  std::vector<std::string> headers{"step", "target", ">time", ">share"};
  if (profile.latency.regions > 0) headers.insert(headers.end(), {">cycles", ">simulated in"});
  headers.insert(headers.end(), {">Mop", "kind", ">GOP/s", ">utilization", ">code"});
  TextTable table(headers);
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    const driver::ProfiledStep& row = profile.steps[s];
    const driver::StepTime& time = row.time;
    const bool unknown = time.simulating && !time.cycles;
    std::vector<std::string> cells{time.name, time.target, unknown ? "-" : driver::seconds_text(time.seconds),
                                   unknown || !profile.latency.complete
                                       ? "-"
                                       : fmt::format("{:.1f} %", total > 0 ? 100 * time.seconds / total : 0)};
    if (profile.latency.regions > 0)
      cells.insert(cells.end(), {time.cycles ? with_separators(*time.cycles) : "-",
                                 time.simulating ? driver::seconds_text(*time.simulating) : "-"});
    if (!row.kernel || row.kernel->operations == 0) {
      const bool below = time.simulating || profile.gpu.steps.contains(s);
      cells.insert(cells.end(), {"-",
                                 below        ? "see below"
                                 : row.kernel ? "moves"
                                              : "-",
                                 "-", "-", row.kernel ? driver::bytes_text(row.kernel->code_bytes) : "-"});
      table.add(cells);
      continue;
    }
    cells.insert(
        cells.end(),
        {fmt::format("{:.2f}", static_cast<double>(row.kernel->operations) * 1e-6),
         row.kernel->integer ? "int" : "float", fmt::format("{:.1f}", row.giga_operations_per_second()),
         fmt::format("{:.0f} %", 100 * profile.share_of_peak(row)), driver::bytes_text(row.kernel->code_bytes)});
    table.add(cells);
  }
  out += table.to_string() + "\n";
  if (!profile.gpu.steps.empty()) out += gpu_text(profile.gpu, profile.times()) + "\n";
  if (!profile.launched.empty()) out += fmt::format("launched      {}\n", profile.launched);
  out += latency_text(profile.latency, session.system(), fmt::format("medians of {} runs", profile.repeat));
  if (operations > 0 && profile.latency.other_seconds > 0)
    out += fmt::format("on the CPU    {:.2f} Mop, {:.1f} GOP/s\n", operations * 1e-6,
                       operations / profile.latency.other_seconds * 1e-9);
  simulator::Counters counters;
  bool accelerated = false;
  for (const driver::ProfiledStep& row : profile.steps)
    if (row.time.simulating) counters += row.counters, accelerated = true;
  if (accelerated) out += counters_text(counters) + divided_text(session.program());
  if (profile.energy) out += energy_text(*profile.energy);
  return out + rates_text(profile);
}

// The rate of a step and its share of the ceiling; "-" for a step without a ceiling.
std::pair<std::string, std::string> rate_of(const driver::Profile& profile, std::size_t step) {
  const driver::ProfiledStep& row = profile.steps[step];
  if (const auto gpu = profile.gpu.steps.find(step); gpu != profile.gpu.steps.end())
    return gpu_rate(profile.gpu, gpu->second, row.time.seconds);
  if (!row.kernel || row.kernel->operations == 0) return {"-", "-"};
  return {fmt::format("{:.1f}", row.giga_operations_per_second()),
          fmt::format("{:.0f} %", 100 * profile.share_of_peak(row))};
}

std::string slowest_steps(const driver::Profile& profile) {
  constexpr std::size_t kMost = 6;
  const double total = profile.latency.complete ? profile.latency.seconds() : 0;
  const auto share = [&](double seconds) {
    return total > 0 ? fmt::format("{:.1f} %", 100 * seconds / total) : std::string("-");
  };
  std::vector<std::size_t> order(profile.steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t s) { return profile.steps[s].time.seconds; });
  TextTable table({"slowest steps", "target", ">time", ">share", ">cycles", ">GOP/s", ">utilization"});
  double others = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const driver::StepTime& time = profile.steps[order[i]].time;
    if (i >= kMost) {
      others += time.seconds;
      continue;
    }
    const bool unknown = time.simulating && !time.cycles;
    const auto [rate, utilization] = rate_of(profile, order[i]);
    table.add({shortened(time.name), time.target, unknown ? "-" : driver::seconds_text(time.seconds),
               unknown ? "-" : share(time.seconds), time.cycles ? with_separators(*time.cycles) : "-", rate,
               utilization});
  }
  std::string text = fmt::format("\n{}", table.to_string());
  if (order.size() > kMost) text += fmt::format("  and {} others: {}\n", order.size() - kMost, share(others));
  return text + "\n";
}

std::string profile_summary(const driver::Session& session, const driver::Profile& profile) {
  std::string text = entry("profiled", fmt::format("{}, {} runs, {} threads", session.options().model.title(),
                                                   profile.repeat, profile.threads));
  text += latency_text(profile.latency, session.system(), fmt::format("medians of {} runs", profile.repeat));
  if (session.model() != nullptr) text += work_summary(*session.model(), time_shares(profile.times()));
  text += slowest_steps(profile);
  text += timing_summary(profile.timed, session.system());
  if (profile.energy) text += energy_summary(*profile.energy);
  text += rates_text(profile);
  return text + entry("next", "--details has all steps, counters, stalls and what other hardware would gain");
}

std::string profile_details(const driver::Session& session, const driver::Profile& profile) {
  std::string text = steps_text(session, profile);
  for (const driver::TimedProgram& program : profile.timed)
    text += fmt::format("\nstep          {}\n{}", program.name, timing_text(program, session.system()));
  return text;
}

}  // namespace

std::string profile_text(const driver::Session& session, const driver::Profile& profile, Amount amount) {
  return amount == Amount::summary ? profile_summary(session, profile) : profile_details(session, profile);
}

Json profile_json(const driver::Session& session, const driver::Profile& profile) {
  Json steps = Json::array();
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    const driver::ProfiledStep& row = profile.steps[s];
    Json step{{"name", row.time.name}, {"target", row.time.target}, {"seconds", row.time.seconds}};
    add_time(step, row.time);
    if (row.kernel)
      step.update({{"operations", row.kernel->operations},
                   {"integer", row.kernel->integer},
                   {"gop_per_s", row.giga_operations_per_second()},
                   {"share_of_peak", profile.share_of_peak(row)},
                   {"code_bytes", row.kernel->code_bytes},
                   {"kernel", row.kernel->symbol},
                   {"origins", row.origins}});
    if (Json gpu = gpu_step_json(profile.gpu, s, row.time.seconds); !gpu.is_null()) step["gpu"] = std::move(gpu);
    if (row.time.simulating) step["counters"] = to_json(row.counters);
    for (const driver::TimedProgram& program : profile.timed)
      if (program.name == row.time.name) step["timing"] = timing_json(program, session.system());
    steps.push_back(std::move(step));
  }
  return {
      {"kind", "profile"},
      {"file", session.options().model.title()},
      {"repeat", profile.repeat},
      {"system", system_json(session.system())},
      {"latency", latency_json(profile.latency, session.system())},
      {"time_shares", time_shares(profile.times())},
      {"mac_shares", session.model() == nullptr ? Json() : Json(driver::mac_shares(session.model()->compiled.summary))},
      {"energy", energy_json(profile.energy)},
      {"rates", rates_json(profile)},
      {"threads", profile.threads},
      {"gpu", gpu_ceilings_json(profile.gpu)},
      {"launched", profile.launched},
      {"divided", divided_json(session.program())},
      {"peak_of_one_core", {{"float32", to_json(profile.float32_peak)}, {"int8", to_json(profile.int8_peak)}}},
      {"steps", steps}};
}

}  // namespace dovetail::cli

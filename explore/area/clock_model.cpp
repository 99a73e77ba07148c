#include "explore/area/clock_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/json_problem.h"
#include "explore/area/fpga_model.h"
#include "explore/area/kit_file.h"
#include "isa/config.h"
#include "isa/spec/config.h"
#include "simulator/rtl/find.h"

namespace dovetail::explore {

using isa::HardwareConfig;

namespace {

double log2_number(std::int64_t value) { return std::log2(static_cast<double>(value)); }

// What the period of the clock, in ns, is linear in. Wires are longer in a larger design; trees, counters and
// multiplexers are deeper by the logarithm of what they choose from.
struct PeriodFeature {
  std::string_view name;
  Feature of;
};
constexpr std::array<PeriodFeature, 7> kPeriodFeatures{{
    {"constant", [](const HardwareConfig&) { return 1.0; }},
    {"multipliers", [](const HardwareConfig& c) { return log2_number(c.batch * c.block_in * c.block_out); }},
    {"lanes of REQUANT", [](const HardwareConfig& c) { return c.requant ? 1.0 : 0.0; }},
    {"bytes of the port", [](const HardwareConfig& c) { return log2_number(c.bus_bytes); }},
    {"beats of a buffer", [](const HardwareConfig& c) { return log2_number(c.outstanding_beats); }},
    {"bits of an address", [](const HardwareConfig& c) { return static_cast<double>(c.address_bits); }},
    {"bytes of buffers",
     [](const HardwareConfig& c) {
       return log2_number(c.uop_buffer_bytes + c.inp_buffer_bytes + c.wgt_buffer_bytes + c.acc_buffer_bytes);
     }},
}};

// Quantities whose range the runs show; beyond it the model knows no error.
struct ClockRange {
  std::string_view what;
  std::int64_t (*of)(const HardwareConfig&);
};
constexpr std::array<ClockRange, 8> kClockRanges{{
    {"multipliers", [](const HardwareConfig& c) { return c.batch * c.block_in * c.block_out; }},
    {"lanes of a result", [](const HardwareConfig& c) { return c.batch * c.block_out; }},
    {"lanes of an input", [](const HardwareConfig& c) { return c.batch * c.block_in; }},
    {"bytes of the port", [](const HardwareConfig& c) { return c.bus_bytes; }},
    {"beats of a buffer", [](const HardwareConfig& c) { return c.outstanding_beats; }},
    {"bits of an address", [](const HardwareConfig& c) { return c.address_bits; }},
    {"bytes of buffers",
     [](const HardwareConfig& c) {
       return c.uop_buffer_bytes + c.inp_buffer_bytes + c.wgt_buffer_bytes + c.acc_buffer_bytes;
     }},
    {"DSPs", dsps_of},
}};

std::vector<std::string> beyond_runs(const std::vector<ClockRun>& runs, const HardwareConfig& hardware) {
  std::vector<std::string> beyond;
  for (const ClockRange& row : kClockRanges) {
    const auto [least, most] = std::ranges::minmax(runs, {}, [&](const ClockRun& run) { return row.of(run.hardware); });
    const std::int64_t from = row.of(least.hardware), to = row.of(most.hardware), is = row.of(hardware);
    if (is < from || is > to) beyond.push_back(fmt::format("{} {} (runs have {} to {})", is, row.what, from, to));
  }
  for (const isa::spec::Extension& row : isa::spec::kExtensions)
    if (hardware.*row.member &&
        std::ranges::none_of(runs, [&](const ClockRun& run) { return run.hardware.*row.member; }))
      beyond.push_back(fmt::format("{} (no run has it)", row.key));
  return beyond;
}

}  // namespace

Result<ClockRuns> clock_runs_from_json(const Json& json, std::string_view where) {
  ClockRuns runs;
  try {
    runs.device = json.at("device");
    runs.placer = json.at("placer");
    for (const Json& item : json.at("runs")) {
      ClockRun run;
      DOVETAIL_ASSIGN(run.hardware, isa::config_from_json(item.at("parameters"), where));
      run.held_back = item.at("held_back").get<bool>();
      run.clock_mhz = item.at("clock_mhz").get<double>();
      constexpr double kLeastMhz = 1, kMostMhz = 1e4;  // beyond any run of a placer
      if (!(run.clock_mhz >= kLeastMhz && run.clock_mhz <= kMostMhz)) return bad_kit_file(where, "a run has no clock");
      runs.runs.push_back(std::move(run));
    }
  } catch (const Json::exception& error) {
    return bad_kit_file(where, json_problem(error.what()));
  }
  return runs;
}

Result<ClockModel> ClockModel::of_kit() {
  const std::string file =
      (simulator::hardware_folder() / "syn" / fmt::format("sweep.pnr.{}.json", kClockModel)).string();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    return Diagnostic{"the clock model does not apply", fmt::format("clock {}", kClockModel),
                      "the kit has no runs of place and route to fit it to (hw/syn)", "state a clock in MHz"};
  DOVETAIL_ASSIGN(const Json json, read_json_file(file));
  DOVETAIL_ASSIGN(ClockRuns runs, clock_runs_from_json(json, file));
  return fit(std::move(runs), file);
}

Result<ClockModel> ClockModel::fit(ClockRuns runs, std::string_view file) {
  ClockModel model;
  std::vector<SynthesisRun> fitted;
  std::vector<double> periods;
  for (const ClockRun& run : runs.runs)
    if (!run.held_back) {
      fitted.push_back({.hardware = run.hardware, .blocks = {}});
      periods.push_back(1e3 / run.clock_mhz);
    }
  const std::size_t held_back = runs.runs.size() - fitted.size();
  if (fitted.size() < kLeastFitted || held_back < kLeastHeldBack)
    return bad_kit_file(file, fmt::format("{} runs for the fit and {} others are too few: {} and {} are needed",
                                          fitted.size(), held_back, kLeastFitted, kLeastHeldBack));
  std::vector<const SynthesisRun*> pointers;
  for (const SynthesisRun& run : fitted) pointers.push_back(&run);
  std::vector<Feature> features;
  for (const PeriodFeature& row : kPeriodFeatures) features.push_back(row.of);
  model.coefficients_ = least_squares(pointers, periods, features);
  model.runs_ = std::move(runs);
  return model;
}

double ClockModel::fitted_mhz(const HardwareConfig& hardware) const {
  double period = 0;
  for (std::size_t i = 0; i < kPeriodFeatures.size(); ++i) period += coefficients_[i] * kPeriodFeatures[i].of(hardware);
  return 1e3 / std::max(period, 1.0);
}

Result<double> ClockModel::clock_mhz(const HardwareConfig& hardware) const {
  const auto bad = [&](std::string why) {
    return Diagnostic{"the clock model does not apply", fmt::format("{}, clock {}", hardware.name, kClockModel),
                      std::move(why), "state a clock in MHz"};
  };
  if (!is_on())
    return bad(fmt::format("it is off by {:.1f} % at most on runs that it was not fitted to, more than {:.0f} %",
                           100 * error(true).most, 100 * kMostError));
  if (const auto beyond = beyond_runs(runs_.runs, hardware); !beyond.empty())
    return bad(fmt::format("the design is beyond its runs: {}", fmt::join(beyond, ", ")));
  return std::round(fitted_mhz(hardware) * 10) / 10;
}

Result<double> ClockModel::clock_mhz(const isa::Machine& machine) const {
  DOVETAIL_ASSIGN(double slowest, clock_mhz(machine.hardware));
  for (const HardwareConfig& other : machine.system.others) {
    DOVETAIL_ASSIGN(const double clock, clock_mhz(other));
    slowest = std::min(slowest, clock);
  }
  return slowest;
}

ModelError ClockModel::error(bool held_back) const {
  ModelError error;
  for (const ClockRun& run : runs_.runs) {
    if (run.held_back != held_back) continue;
    const double off = std::abs(fitted_mhz(run.hardware) - run.clock_mhz) / run.clock_mhz;
    ++error.runs;
    error.mean += off;
    error.most = std::max(error.most, off);
  }
  if (error.runs > 0) error.mean /= static_cast<double>(error.runs);
  return error;
}

std::string ClockModel::text() const {
  const ModelError held_back = error(true);
  return fmt::format("a model of {} runs of {} for {}, off by {:.1f} % on average, {:.1f} % at most, on {} other runs",
                     error(false).runs, runs_.placer, runs_.device, 100 * held_back.mean, 100 * held_back.most,
                     held_back.runs);
}

std::string ClockModel::key() const {
  Hash hash;
  for (const double coefficient : coefficients_) hash.add(fmt::format("{}", coefficient));
  return hash.text();
}

Result<ClockModel> choose_clock_model(std::string_view name, std::string_view where) {
  if (name != kClockModel)
    return Diagnostic{"there is no clock model of this name", fmt::format("{}: {}", where, name),
                      fmt::format("the models are: {}", kClockModel), "write MHz, or the name of a model"};
  return ClockModel::of_kit();
}

}  // namespace dovetail::explore

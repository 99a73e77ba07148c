// The clock of a design point on an FPGA without place and route: a model that is fitted to runs of nextpnr.
// docs/howto/place-and-route.md describes fit and error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/area/logic_model.h"
#include "isa/config.h"
#include "isa/system.h"

namespace dovetail::explore {

// The models that there are, by the flow whose runs they are fitted to: hw/syn/sweep.pnr.<name>.json.
inline constexpr std::string_view kClockModel = "ecp5";

// A design point that was placed and routed with one seed.
struct ClockRun {
  isa::HardwareConfig hardware;
  double clock_mhz = 0;
  bool held_back = false;  // not used for the fit, but to measure its error
};
// {"device", "placer", "runs": [{"parameters": {...}, "held_back", "clock_mhz"}]}
struct ClockRuns {
  std::string device = {}, placer = {};
  std::vector<ClockRun> runs = {};
};
Result<ClockRuns> clock_runs_from_json(const Json& json, std::string_view where);

class ClockModel {
 public:
  // A model with a larger error on the held-back runs is off: it gives no clocks.
  static constexpr double kMostError = 0.15;
  static constexpr std::size_t kLeastFitted = 12, kLeastHeldBack = 4;

  static Result<ClockModel> of_kit();
  // Error: there are too few runs.
  static Result<ClockModel> fit(ClockRuns runs, std::string_view file);

  // In MHz, to a tenth. Errors: the model is off; the design is larger than all runs, or has an extension that no run
  // has, so that the error of its clock is not known.
  Result<double> clock_mhz(const isa::HardwareConfig& hardware) const;
  // The slowest of all accelerators.
  Result<double> clock_mhz(const isa::Machine& machine) const;

  ModelError error(bool held_back) const;
  bool is_on() const { return error(true).most <= kMostError; }
  // "a model of 16 runs of nextpnr-0.11.1 for LFE5U-85F-6 CABGA381, off by 3.1 % on average, 8.0 % at most, on 6 other
  // runs".
  std::string text() const;
  std::string key() const;  // equal keys give equal clocks

 private:
  double fitted_mhz(const isa::HardwareConfig& hardware) const;

  ClockRuns runs_;
  std::vector<double> coefficients_;
};

// The model that a user names. Error: there is none of this name, or its file cannot be read.
Result<ClockModel> choose_clock_model(std::string_view name, std::string_view where);

}  // namespace dovetail::explore

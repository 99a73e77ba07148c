// Models of the logic, flip-flops and levels of logic of a design point in one flow of synthesis: linear in the
// quantities with which each block grows, fitted to runs of Yosys that vary one parameter at a time.
// docs/howto/exploring.md describes fit and error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/config.h"
#include "isa/system.h"

namespace dovetail::explore {

// The result of Yosys for one design point: the logic (two-input gates in flow `generic`) and flip-flops of each
// block, including everything in it.
struct BlockCount {
  std::string path;  // instance names, joined by '/'; empty: the whole design
  double logic = 0, flip_flops = 0;
};
struct SynthesisRun {
  isa::HardwareConfig hardware;
  std::vector<BlockCount> blocks;
  std::int64_t logic_levels = 0;
  std::int64_t memory_bits = 0;  // of flow `generic`
  bool held_back = false;        // not used for the fit, but to measure its error
};
// {"runs": [{"parameters": {...}, "held_back", "logic_levels", "memory_bits", "blocks": {path: [logic, flip-flops]}}]},
// of an FPGA also "dsp", "ramb18", "ramb36"
Result<std::vector<SynthesisRun>> synthesis_runs_from_json(const Json& json, std::string_view where);

// What logic is mapped to: the models of FPGAs have other features than that of gates.
enum class Cells : std::uint8_t { gates, luts };

// A quantity of a configuration with which the area grows.
using Feature = double (*)(const isa::HardwareConfig&);
// Coefficients by least squares of relative errors; 0 for a feature that the runs do not vary.
std::vector<double> least_squares(std::span<const SynthesisRun* const> runs, std::span<const double> values,
                                  std::span<const Feature> features);
double sum_of(std::span<const double> coefficients, std::span<const Feature> features,
              const isa::HardwareConfig& hardware);

// The error of a model relative to runs: means of absolute values, and the largest.
struct ModelError {
  std::size_t runs = 0;
  double mean = 0, most = 0;
};
// `model` and `truth` give the value of a run.
template <typename Model, typename Truth>
ModelError error_of(std::span<const SynthesisRun> runs, bool held_back, const Model& model, const Truth& truth) {
  ModelError error;
  for (const SynthesisRun& run : runs) {
    if (run.held_back != held_back) continue;
    const double is = truth(run), off = is == 0 ? 0 : std::abs(model(run.hardware) - is) / is;
    ++error.runs;
    error.mean += off;
    error.most = std::max(error.most, off);
  }
  if (error.runs > 0) error.mean /= static_cast<double>(error.runs);
  return error;
}

class LogicModel;
// LogicModel::extrapolates() of all accelerators.
std::vector<std::string> all_extrapolated(const isa::Machine& machine, const LogicModel& model);

class LogicModel {
 public:
  // Fits to the runs that are not held back. `file`: of the runs, for errors: there are too few.
  static Result<LogicModel> fit(std::vector<SynthesisRun> runs, std::string_view file, Cells cells = Cells::gates);

  double logic(const isa::HardwareConfig& hardware) const;
  double flip_flops(const isa::HardwareConfig& hardware) const;
  double levels(const isa::HardwareConfig& hardware) const;
  ModelError logic_error(bool held_back) const;
  ModelError flip_flop_error(bool held_back) const;
  ModelError level_error(bool held_back) const;
  std::span<const SynthesisRun> runs() const { return runs_; }
  std::pair<double, double> multipliers() const;  // the fewest and the most of all runs
  // The error of logic on the held-back runs, and the range of all runs: "gates off by 0.2 % on average, 0.6 % at most,
  // on 13 other runs; all runs have 16 to 256 multipliers"; of LUTs with the error of levels. `what`: the name of logic
  // in the flow.
  std::string error_text(std::string_view what) const;
  // The parameters in which the configuration is outside the range of all runs, so that the error of its estimate is
  // unknown: "1024 multipliers (runs have 16 to 256)", "window (no run has it)". Empty: the configuration is within the
  // range of the runs.
  std::vector<std::string> extrapolates(const isa::HardwareConfig& hardware) const;

 private:
  struct Fitted {
    std::vector<double> logic, flip_flops;  // a coefficient for each feature
  };
  std::vector<SynthesisRun> runs_;
  Cells cells_ = Cells::gates;
  std::vector<Fitted> blocks_;  // in the order of the table of blocks
  std::vector<double> levels_;
};

}  // namespace dovetail::explore

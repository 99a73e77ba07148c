// Estimates the resources of an FPGA that a design point takes: LUTs, flip-flops and levels by models that are fitted
// to runs of Yosys, DSPs likewise, block RAMs by the rule by which Yosys divides a memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/area/logic_model.h"
#include "isa/config.h"

namespace dovetail::explore {

// The resources of an FPGA that a design takes.
struct FpgaUse {
  double lut = 0, flip_flops = 0, dsp = 0;
  double bram = 0;    // block RAMs of 36 Kb; one of 18 Kb is half of one
  double levels = 0;  // of logic between registers

  FpgaUse times(double designs) const;  // of several equal designs
};

class FpgaModel {
 public:
  static Result<FpgaModel> fit(std::vector<SynthesisRun> runs, std::string_view file);

  FpgaUse estimate(const isa::HardwareConfig& hardware) const;
  const LogicModel& logic() const { return logic_; }
  ModelError dsp_error(bool held_back) const;
  ModelError bram_error(bool held_back) const;
  // The errors on the held-back runs: "LUTs off by 1.2 % on average, 3 % at most, flip-flops ..., on 13 other runs".
  std::string error_text() const;
  // {"lut", "flip_flops", "dsp", "bram", "levels", "error", "extrapolates"}
  Json report(const isa::HardwareConfig& hardware) const;

 private:
  explicit FpgaModel(LogicModel logic) : logic_(std::move(logic)) {}
  LogicModel logic_;
  std::vector<double> dsp_;  // a coefficient for each feature
};

}  // namespace dovetail::explore

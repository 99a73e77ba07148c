// Estimates the resources of a design point in a family of FPGAs without synthesis. Look-up tables (LUT), flip-flops
// and levels of logic come from models that are fitted to runs of Yosys; DSP slices and block RAMs follow from the
// rules by which Yosys maps products and memories, and are exact. docs/howto/exploring.md describes fit and error.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/area/logic_model.h"
#include "isa/config.h"
#include "isa/system.h"

namespace dovetail::explore {

// A family, and how its LUTs hold a memory with one write port and one read port. Sources: «Distributed RAM» of Xilinx
// UG474 (7 series: RAM32M, RAM64M) and UG574 (UltraScale: RAM32M16, RAM64M8).
struct FpgaFamily {
  std::string_view flow;             // of hw/syn
  std::string_view title;            // "Xilinx 7 series"
  std::int64_t luts_per_memory = 0;  // LUTs of a distributed memory
  std::int64_t bits_of_32 = 0;       // bits of a word of one with 32 words; with 64 words it has half as many
};
// The families that have runs for a fit.
inline constexpr std::array kFpgaFamilies{FpgaFamily{"xc7", "Xilinx 7 series", 4, 6},
                                          FpgaFamily{"xcup", "Xilinx UltraScale+", 8, 14}};

// The resources of a memory.
struct FpgaMemory {
  std::int64_t luts = 0, ramb18 = 0, ramb36 = 0;
  bool operator==(const FpgaMemory&) const = default;
};
// `registered`: the read data comes a cycle after the address, as block RAM requires.
FpgaMemory map_memory(std::int64_t words, std::int64_t bits, bool registered, const FpgaFamily& family);

// The DSPs that products take, by the rules of Yosys; the same in all families, and in Lattice ECP5.
std::int64_t dsps_of(const isa::HardwareConfig& hardware);

struct FpgaEstimate {
  double lut = 0;  // those that hold memories included
  double flip_flops = 0, dsp = 0;
  double bram = 0;  // block RAMs of 36 Kbit; one of 18 Kbit is a half
  double logic_levels = 0;
  FpgaEstimate times(std::int64_t accelerators) const;
  FpgaEstimate& operator+=(const FpgaEstimate& other);  // of another accelerator
};

class FpgaModel {
 public:
  // The model of the kit's hw/syn/sweep.FLOW.json.
  static Result<FpgaModel> of_kit(const FpgaFamily& family);

  FpgaEstimate estimate(const isa::HardwareConfig& hardware) const;
  FpgaEstimate estimate(const isa::Machine& machine) const;  // of all its accelerators together
  const FpgaFamily& family() const { return *family_; }
  const LogicModel& logic() const { return logic_; }
  std::string error_text() const { return logic_.error_text("LUT") + "; DSP and block RAM are exact"; }
  // estimate(machine), with the model's error: `dovetail hw area --estimate --flow FLOW --json`.
  Json report(const isa::Machine& machine) const;

 private:
  FpgaModel(const FpgaFamily& family, LogicModel logic) : family_(&family), logic_(std::move(logic)) {}

  const FpgaFamily* family_;
  LogicModel logic_;
};

}  // namespace dovetail::explore

// Estimates the area of a design point without synthesis: models of each block, fitted to runs of Yosys that vary one
// parameter at a time, and the exact sizes of memories. docs/howto/exploring.md describes fit and error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/config.h"

namespace dovetail::explore {

// The result of Yosys (flow `generic`) for one design point: two-input gates and flip-flops of each block, including
// everything in it.
struct BlockCount {
  std::string path;  // instance names, joined by '/'; empty: the whole design
  double gates = 0, flip_flops = 0;
};
struct SynthesisRun {
  isa::HardwareConfig hardware;
  std::vector<BlockCount> blocks;
  std::int64_t memory_bits = 0, logic_levels = 0;
  bool held_back = false;  // not used for the fit, but to measure its error
};
// {"runs": [{"parameters": {...}, "held_back", "memory_bits", "logic_levels", "blocks": {path: [gates, flip-flops]}}]}
Result<std::vector<SynthesisRun>> synthesis_runs_from_json(const Json& json, std::string_view where);

// A memory with a read and a write port.
struct MemoryMacro {
  std::string_view name;
  std::int64_t words = 0, bits = 0;  // bits per word
  std::int64_t size() const { return words * bits; }
};
// The SRAMs, then the queues and beat buffers, without small ones that are counted as flip-flops.
std::vector<MemoryMacro> memories_of(const isa::HardwareConfig& hardware);

// The area of gates and bits in a technology. Every number has its source in the file.
struct Technology {
  std::string name;
  double node_nm = 0;
  double gate_um2 = 0, flip_flop_um2 = 0;
  double utilization = 1;  // share of the placed area that cells use
  // Area of a memory in µm²: (bits * per_bit + sqrt(bits) * per_edge) of a single-port memory, times `two_ports`.
  double sram_per_bit = 0, sram_per_edge = 0, two_ports = 1;
  double level_ps = 0;  // delay of a level of logic with its wire
};
Result<Technology> technology_from_json(const Json& json, std::string_view where);

struct AreaEstimate {
  double gates = 0, flip_flops = 0;
  double memory_bits = 0;
  double logic_mm2 = 0, sram_mm2 = 0;
  double logic_levels = 0, clock_mhz = 0;  // levels between registers, and the clock that they allow
  double mm2() const { return logic_mm2 + sram_mm2; }
};

// The error of the model relative to the runs: means of absolute values, and the largest.
struct AreaError {
  std::size_t runs = 0;
  double gates_mean = 0, gates_most = 0, flip_flops_mean = 0, flip_flops_most = 0, levels_mean = 0;
};

class AreaModel {
 public:
  // Fits to the runs that are not held back. Error: there are too few runs.
  static Result<AreaModel> fit(std::vector<SynthesisRun> runs, Technology technology);
  // The model of the kit's hw/syn/sweep.json and hw/syn/technology.json.
  static Result<AreaModel> of_kit();

  AreaEstimate estimate(const isa::HardwareConfig& hardware) const;
  AreaError error(bool held_back) const;
  // The error of gates on the held-back runs as text, with the range of multipliers of all runs: "gates off by 0.2 % on
  // average, 0.6 % at most, on 13 other runs; all runs have 16 to 256 multipliers".
  std::string error_text() const;
  // The parameters in which the configuration is outside the range of all runs, so that the error of its estimate is
  // unknown: "1024 multipliers (runs have 16 to 256)", "window (no run has it)". Empty: the configuration is within the
  // range of the runs.
  std::vector<std::string> extrapolates(const isa::HardwareConfig& hardware) const;
  // The estimate of a configuration, with the model's technology and error: `dovetail hw area --estimate --json`.
  Json report(const isa::HardwareConfig& hardware) const;
  const Technology& technology() const { return technology_; }

 private:
  struct Fitted {
    std::vector<double> gates, flip_flops;  // a coefficient for each feature
  };
  std::vector<SynthesisRun> runs_;
  Technology technology_;
  std::vector<Fitted> blocks_;  // in the order of the table of blocks
  std::vector<double> levels_;
};

}  // namespace dovetail::explore

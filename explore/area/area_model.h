// Estimates the area of a design point without synthesis: in a technology by models of gates and flip-flops and the
// exact sizes of memories. docs/howto/exploring.md describes fit and error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/area/fpga_model.h"
#include "explore/area/logic_model.h"
#include "isa/config.h"
#include "isa/system.h"

namespace dovetail::explore {

// The area of gates and bits in a technology. Every number has its source in the file (docs/schema/technology.json).
struct Technology {
  std::string name;
  double node_nm = 0;
  double gate_um2 = 0, flip_flop_um2 = 0;
  double utilization = 1;  // share of the placed area that cells use
  // Area of a memory in µm²: (bits * per_bit + sqrt(bits) * per_edge) of a single-port memory, times `two_ports`.
  double sram_per_bit = 0, sram_per_edge = 0, two_ports = 1;
  double level_ps = 0;  // delay of a level of logic with its wire

  std::string key() const;  // the name and all numbers: equal keys give equal areas
};
// Reports all errors: unknown and missing keys, values out of range, numbers without a source.
Result<Technology> technology_from_json(const Json& json, std::string_view where);

struct AreaEstimate {
  double gates = 0, flip_flops = 0;
  double memory_bits = 0;
  double logic_mm2 = 0, sram_mm2 = 0;
  double logic_levels = 0, clock_mhz = 0;  // levels between registers, and the clock that they allow
  double mm2() const { return logic_mm2 + sram_mm2; }
  AreaEstimate times(std::int64_t accelerators) const;
  AreaEstimate& operator+=(const AreaEstimate& other);  // of another accelerator; the slower one decides the clock
};

class AreaModel {
 public:
  AreaModel(LogicModel gates, Technology technology, std::vector<FpgaModel> fpgas)
      : gates_(std::move(gates)), technology_(std::move(technology)), fpgas_(std::move(fpgas)) {}
  // The model of the kit's hw/syn/sweep.FLOW.json and hw/syn/technology.json.
  static Result<AreaModel> of_kit();

  // The same with another technology.
  AreaModel in(Technology technology) const { return AreaModel(gates_, std::move(technology), fpgas_); }

  AreaEstimate estimate(const isa::HardwareConfig& hardware) const;
  AreaEstimate estimate(const isa::Machine& machine) const;  // of all its accelerators together
  const LogicModel& gates() const { return gates_; }
  std::string error_text() const { return gates_.error_text("gates"); }
  // LogicModel::extrapolates() of the gates.
  std::vector<std::string> extrapolates(const isa::HardwareConfig& hardware) const {
    return gates_.extrapolates(hardware);
  }
  // estimate(machine), with the model's technology and error: `dovetail hw area --estimate --json`.
  Json report(const isa::Machine& machine) const;
  const Technology& technology() const { return technology_; }
  std::string key() const;                                     // equal keys give equal estimates
  std::span<const FpgaModel> fpgas() const { return fpgas_; }  // in the order of kFpgaFamilies

 private:
  LogicModel gates_;
  Technology technology_;
  std::vector<FpgaModel> fpgas_;
};

}  // namespace dovetail::explore

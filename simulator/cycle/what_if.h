// What-if analysis: the time of the same instructions on hardware with larger or faster parts, by simulating them
// again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/accelerators.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

struct WhatIf {
  std::string change;
  std::uint64_t cycles = 0;
  bool operator==(const WhatIf&) const = default;
};

// One row per change, in a fixed order; changes without effect on this machine are left out. `dram` contains the
// micro-ops. Errors: those of the program on the original hardware.
Result<std::vector<WhatIf>> what_if(const isa::HardwareConfig& config, const EngineOptions& options,
                                    std::span<const isa::Instruction> program, std::span<const isa::Launch> launches,
                                    Dram& dram);
Json to_json(const std::vector<WhatIf>& answers);

}  // namespace dovetail::simulator

// The same instructions on other hardware: the benefit of larger or faster parts. Computed by timing them again, not by
// estimates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/verify.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

struct WhatIf {
  std::string change;
  std::uint64_t cycles = 0;
  bool operator==(const WhatIf&) const = default;
};

// In a fixed order; changes that the machine already has are left out. `dram` holds the micro-ops. Errors: as the
// program has them on the hardware itself.
Result<std::vector<WhatIf>> what_if(const isa::HardwareConfig& config, const EngineOptions& options,
                                    std::span<const isa::Instruction> program, std::span<const isa::Launch> launches,
                                    Dram& dram);
Json to_json(const std::vector<WhatIf>& answers);

}  // namespace dovetail::simulator

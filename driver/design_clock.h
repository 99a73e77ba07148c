// The clock that a design suggests: its levels of logic between registers by the area model, which is fitted to runs of
// Yosys, times the delay of a level in the model's technology. There is no placement: a real clock is lower.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "driver/system.h"
#include "isa/config.h"
#include "isa/system.h"

namespace dovetail::driver {

struct DesignClock {
  double mhz = 0, levels = 0, level_ps = 0;
};
// nullopt: the kit's hardware folder is missing.
// `level_ps`: System::level_ps.
std::optional<DesignClock> design_clock(const isa::HardwareConfig& config, double level_ps = 0);

// "500 MHz is beyond the 385 MHz of the design: 65 levels of logic of 40 ps by the area model, before placement".
// Empty: the clock does not exceed the design's, or the latter is unknown.
std::string beyond_design(const isa::HardwareConfig& config, double clock_mhz, double level_ps = 0);

// Gives the clock that a model has for the machine, if the changes name one (SystemChanges::clock_model). Errors: the
// model is unknown, or it does not apply to the machine.
Result<SystemChanges> with_clock_model(const isa::Machine& machine, SystemChanges changes);

}  // namespace dovetail::driver

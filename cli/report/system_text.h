// The system that cycles are counted with, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/system.h"

namespace dovetail::cli {

// The lines "clock" and "memory" of a report, and "accelerators" if there are several, each with its origin.
std::string system_text(const driver::System& system);
// Each configuration once.
std::string hardware_text(const isa::AcceleratorConfigs& configs);
// {"clock_mhz", "clock_from", "memory", "memory_from"}, with "accelerators" and "accelerators_from" where there are
// several
Json system_json(const driver::System& system);

}  // namespace dovetail::cli

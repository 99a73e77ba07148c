// The system that cycles are counted with, for people and for machines.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/system.h"

namespace dovetail::cli {

// The lines "clock" and "memory" of a report, and "accelerators" where there are several, each with what says so.
std::string system_text(const driver::System& system);
// {"clock_mhz", "clock_from", "memory", "memory_from"}, with "accelerators" and "accelerators_from" where there are
// several
Json system_json(const driver::System& system);

}  // namespace dovetail::cli

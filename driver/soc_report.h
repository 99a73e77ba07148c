// What firmware of the system on chip prints over its serial line (hw/soc/firmware/main.c).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/soc.h"

namespace dovetail::driver {

// The last line that is not empty.
std::string last_line(std::string_view serial);

// Adds to `run` what the firmware reported: how it ended, launches, interrupts, outputs. `expected`: the launches of
// the cycle engine. Error: the text is not such a report.
Result<void> read_report(std::string_view serial, const Exported& exported, const std::vector<SocLaunch>& expected,
                         SocRun& run);

}  // namespace dovetail::driver

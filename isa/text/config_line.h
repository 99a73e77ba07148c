// The `.config` directive.
#pragma once

#include <optional>

#include "isa/config.h"
#include "isa/text/scan.h"

namespace dovetail::isa::text {

// nullopt if it is wrong or differs from `expected`; `errors` then holds an error for each parameter.
std::optional<HardwareConfig> parse_config_line(const Line& line, const std::optional<HardwareConfig>& expected,
                                                Errors& errors);

}  // namespace dovetail::isa::text

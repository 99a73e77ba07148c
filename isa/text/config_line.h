// The `.config` directive.
#pragma once

#include <optional>

#include "isa/config.h"
#include "isa/text/scan.h"

namespace dovetail::isa::text {

// `.config [named-configuration] {parameter=value}`: the rest holds the named (or default) configuration's values.
// Nothing where it is wrong or differs from `expected`; `errors` then says how, parameter by parameter.
std::optional<HardwareConfig> parse_config_line(const Line& line, const std::optional<HardwareConfig>& expected,
                                                Errors& errors);

}  // namespace dovetail::isa::text

// The kit's energy table (explore/energy/cmos45.json), embedded into the library by the build.
#pragma once

#include <string_view>

namespace dovetail::explore {

extern const std::string_view kEnergyTable;

}  // namespace dovetail::explore

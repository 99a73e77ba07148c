// The kit's energy table (explore/energy/cmos45.json), as the build has put it into the library.
#pragma once

#include <string_view>

namespace dovetail::explore {

extern const std::string_view kEnergyTable;

}  // namespace dovetail::explore

// Names of what functions of the driver in C return (examples/driver/dovetail_driver.h).
#pragma once

#include <string_view>

namespace dovetail::simulator::soc {

// "launch_failed"; empty: success, or another number.
std::string_view driver_result(int result);

}  // namespace dovetail::simulator::soc

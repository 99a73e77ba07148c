// What the machine needs for the commands that build chips, in addition to the engines and targets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dovetail::driver {

struct HardwareFlow {
  std::string_view name, description;
  std::string missing;  // what is not here, and the command that brings it; empty: nothing
};

// The system on chip, and place and route. Searches the PATH; runs python3 and a compiler.
std::vector<HardwareFlow> hardware_flows();

}  // namespace dovetail::driver

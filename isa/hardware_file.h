// Paths in hardware files and in files that name hardware: a relative one begins in the folder of the file that has it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "isa/system.h"

namespace dovetail::isa {

// A configuration as --hw takes it, from a file in `folder`: the relative paths of a hardware file and of a DRAM file
// among its changes become paths from the working folder. The name of a configuration is returned unchanged.
std::string hardware_from(std::string_view text, const std::filesystem::path& folder);

// machine_to_json() for a file in any folder: the path of a DRAM file is absolute.
Json portable_machine_json(const Machine& machine);

}  // namespace dovetail::isa

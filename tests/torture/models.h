// RTL models for tests, of any configuration.
#pragma once

#include <filesystem>
#include <optional>

#include "isa/config.h"

namespace dovetail::test {

// Returns the model of the configuration: the kit's own, that of the fixture "rtl models/<name>" (named
// configurations), or one that the first test to request it builds, with little optimization, into the build folder,
// where it stays until the design or Verilator changes. nullopt: there is no Verilator, and a skip is noted. Throws
// where the design does not build.
std::optional<std::filesystem::path> rtl_model(const isa::HardwareConfig& config, bool waves = false);

}  // namespace dovetail::test

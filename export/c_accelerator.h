// The accelerator's part of NAME.h and NAME.c, on examples/driver/dovetail_machine.h.
#pragma once

#include <string>

#include "base/json.h"
#include "export/plan.h"

namespace dovetail::exporting {

// Precondition of all: Plan::accelerator is given.

// Macros of the memory and the configurations, and NAME_load.
std::string accelerator_header(const Plan& plan);
// The image, the launches of each region, and NAME_load.
std::string accelerator_tables(const Plan& plan);
// Statements of NAME_run before all calls; and for a region, whose position is the expression `position`.
std::string accelerator_begin(const Plan& plan);
std::string region_statements(const Plan& plan, const RegionCall& call, const std::string& position);

// hardware.json: the machine that the program runs on. The test's simulator reads it.
inline constexpr const char* kHardwareFile = "hardware.json";
Json hardware_json(const PlannedAccelerator& accelerator);

// CMakeLists.txt, and README.txt up to the declaration of the arena.
std::string accelerator_cmake(const Plan& plan);
std::string accelerator_readme(const Plan& plan);

}  // namespace dovetail::exporting

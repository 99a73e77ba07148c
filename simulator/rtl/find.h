// Where Verilated models are stored, and where the design does.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "isa/config.h"

namespace dovetail::simulator {

// A model of the design as it is now (DOVETAIL_HW), made with the Verilator on the PATH, or with any where there is
// none: in the folder DOVETAIL_RTL_MODELS, in lib/dovetail/rtl of the kit, or in the cache of what was built on demand.
// One that was built with optimization comes before one without. Models are code: in the kit and in the cache, what may
// be of other hands (base/user_folder.h) is none. Error: in none of them.
Result<std::filesystem::path> find_rtl_model(const isa::HardwareConfig& config, bool waves);

// Where models go that nobody names a folder for: one of this user's. Error: there is none.
Result<std::filesystem::path> rtl_model_cache();

// The folder with rtl/, sva/ and tb/: DOVETAIL_HW, or share/dovetail/hw of the kit (base/kit_folder.h).
std::filesystem::path hardware_folder();
// It is the kit's, as the kit's tests have run it.
bool is_design_of_kit();

// The folder that the includes of hw/tb are written from: share/dovetail of the kit.
std::filesystem::path kit_folder();

}  // namespace dovetail::simulator

// Locates Verilated models, and the design.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "simulator/rtl/recipe.h"

namespace dovetail::simulator {

// A model of the current design (DOVETAIL_HW), made with the Verilator on the PATH, or with any version if there is
// none: in the folder DOVETAIL_RTL_MODELS, in lib/dovetail/rtl of the kit, or in the cache of models built on demand. A
// model built with optimization is preferred. Models are code: in the kit and in the cache, a file that another user
// may have written (base/user_folder.h) is ignored. Error: found in none of them.
Result<std::filesystem::path> find_rtl_model(const isa::HardwareConfig& config, const RtlModelKind& kind);
Result<std::filesystem::path> find_rtl_model(const isa::HardwareConfig& config, bool waves);

// The named configurations that have such a model.
std::vector<std::string> built_rtl_models();
// Whether any folder has a model, of any configuration and design.
bool has_rtl_models();

// The default folder for models, in this user's cache. Error: there is none.
Result<std::filesystem::path> rtl_model_cache();

// The folder with rtl/, sva/ and tb/: DOVETAIL_HW, or share/dovetail/hw of the kit (base/kit_folder.h).
std::filesystem::path hardware_folder();
// Whether hardware_folder() is the kit's own, which the kit's tests have checked.
bool is_design_of_kit();

// The folder that the includes of hw/tb are relative to: share/dovetail of the kit.
std::filesystem::path kit_folder();

}  // namespace dovetail::simulator

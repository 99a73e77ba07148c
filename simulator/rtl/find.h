// Verilated models: where they lie, and how one is built.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "isa/config.h"

namespace dovetail::simulator {

// The name of a model's file: equal for configurations that differ in name alone. With `waves` a model can write
// waveforms, and is slower.
std::string rtl_model_file(const isa::HardwareConfig& config, bool waves);

// In the folder DOVETAIL_RTL_MODELS, beside the build, or in the cache of what `dovetail rtl build` has built from the
// design as it is now. Error: in none of them.
Result<std::filesystem::path> find_rtl_model(const isa::HardwareConfig& config, bool waves);

struct RtlBuild {
  bool waves = false;
  bool simulation_body = true;      // of the dot product; else the one that synthesis takes
  bool optimise = true;             // else a model that is ready sooner and runs slower
  std::filesystem::path rtl = {};   // the design; empty: hw/ of this kit
  std::filesystem::path into = {};  // folder of the model; empty: the cache
};
// Verilates and compiles. Error: no Verilator, no sources, or what it said. Returns the model's path.
Result<std::filesystem::path> build_rtl_model(const isa::HardwareConfig& config, const RtlBuild& build);

// The folder with rtl/, sva/ and tb/: DOVETAIL_HW, share/dovetail/hw of the installed kit, or the source tree that this
// one was built from.
std::filesystem::path hardware_folder();

}  // namespace dovetail::simulator

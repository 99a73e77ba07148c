// The build of a Verilated model: shell scripts without paths of a machine, so that their text can be hashed into the
// name of a model's file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "isa/config.h"

namespace dovetail::simulator {

struct RtlModelKind {
  bool waves = false;            // it can write waveforms, and is slower
  bool synthesized_dot = false;  // its dot product uses the code for synthesis, not the code for fast simulation
  bool optimize = true;          // false: builds faster and runs slower
  // Not empty: the file picorv32.v, and the model is the system on chip with that processor.
  std::filesystem::path core = {};

  bool is_system() const { return !core.empty(); }
};

// Each script runs in the folder of the build, which holds the generated dovetail_isa_pkg.sv, with the variables
// `design` (the folder with rtl/, sva/, tb/ and soc/), `core`, `kit` (the folder that the test bench's includes are
// relative to) and `run_time` (the object file of Verilator's run time, which is the same for models of all
// configurations).
struct RtlRecipe {
  std::string verilate;
  std::string compile_run_time;  // makes $run_time
  std::string compile_model;     // needs $run_time, makes model.so
};
RtlRecipe rtl_recipe(const isa::HardwareConfig& config, const RtlModelKind& kind);

}  // namespace dovetail::simulator

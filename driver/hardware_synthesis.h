// Runs Yosys on the design in hw/ with one of the flows in hw/syn.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/temporary.h"
#include "isa/config.h"

namespace dovetail::driver {

// The module that a run synthesizes, with everything in it.
struct DesignTop {
  std::string_view module = "dovetail_top";
  std::vector<std::string_view> sources = {"rtl"};  // folders and files below hw/
  std::string wrapper = {};  // source of the module, if it is made for the run; empty: it is one of the sources
};

struct Synthesis {
  TemporaryPath folder;  // with what the flow's script writes
  std::string tool;      // Yosys with its version
};

// Runs Yosys in a temporary folder. Errors: Yosys is not
// installed, there is no design, or Yosys reports an error. Takes minutes for large arrays.
Result<Synthesis> synthesize(const isa::HardwareConfig& config, std::string_view flow, const DesignTop& top = {});

// A hash of the tool's input: the flow, the design without comments and assertions, and the package of this design
// point. It does not depend on the name of the configuration.
std::string synthesis_inputs(const isa::HardwareConfig& config, std::string_view flow, const DesignTop& top = {});

// The last lines of a log.
std::string log_tail(const std::filesystem::path& file);

}  // namespace dovetail::driver

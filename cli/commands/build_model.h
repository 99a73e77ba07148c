// Makes a Verilated model: `dovetail rtl build`, `dovetail soc build`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/shell/command.h"
#include "isa/config.h"
#include "simulator/rtl/build.h"

namespace dovetail::cli {

struct ModelBuild {
  simulator::RtlModelKind kind = {};
  std::optional<std::string> design = {}, into = {};  // folders, as of simulator::RtlBuild
  std::string_view report_kind;                       // "kind" of the report as JSON
  bool json = false;
};

// Builds the model if it is missing, shows the progress, and prints its path.
Result<Exit> build_model(const isa::HardwareConfig& config, ModelBuild build);

}  // namespace dovetail::cli

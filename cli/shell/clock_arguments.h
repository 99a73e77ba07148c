// --trace, --html, --waves, --assertions and --no-build.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/shell/options.h"
#include "simulator/engine_options.h"

namespace dovetail::cli {

struct ClockArguments {
  std::optional<std::string> trace, html, waves;
  bool assertions = false, no_build = false;

  void declare(Options& options);
  // Error: one of them was given that `engine`, for lack of a clock or of a design, would ignore.
  // What the memory is, and how many share it, is left to who runs it.
  Result<simulator::EngineOptions> engine_options(std::string_view engine) const;
  // A line that names the waveforms of so many programs; empty where none were asked for.
  std::string written(std::size_t programs) const;
};

}  // namespace dovetail::cli

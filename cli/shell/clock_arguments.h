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
  // Error: an option was given that `engine` would ignore, because it has no clock or no design. The caller adds the
  // memory and the number of accelerators that share it.
  Result<simulator::EngineOptions> engine_options(std::string_view engine) const;
  // A line that names the waveform files of `programs` programs; empty without --waves.
  std::string written(std::size_t programs) const;
};

}  // namespace dovetail::cli

// --clock, --memory and --accelerators.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/shell/options.h"
#include "driver/system.h"

namespace dovetail::cli {

struct SystemArguments {
  std::optional<std::string> clock, memory, accelerators = std::nullopt;

  void declare(Options& options);
  // Error: one of them that `engine`, which has no clock, would ignore. `estimates`: the command makes estimates of
  // time, for which --clock counts whatever the engine.
  Result<void> check_engine(std::string_view engine, bool estimates) const;
  // Error: what is not a number.
  Result<driver::SystemChanges> parse() const;
};

}  // namespace dovetail::cli

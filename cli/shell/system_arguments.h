// --clock, --memory, --accelerators and --technology.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/shell/options.h"
#include "driver/system.h"

namespace dovetail::cli {

struct SystemArguments {
  std::optional<std::string> clock, memory, accelerators = std::nullopt, split = std::nullopt,
                                            technology = std::nullopt;

  void declare(Options& options);
  // Error: an option was given that `engine` would ignore, because it has no clock. `estimates`: the command estimates
  // times, which use --clock with any engine.
  Result<void> check_engine(std::string_view engine, bool estimates) const;
  // Error: a value is not a number.
  Result<driver::SystemChanges> parse() const;
};

}  // namespace dovetail::cli

// The environment variables that change what a command does: `dovetail --help` and docs/reference/command-line.md list
// them.
#pragma once

#include <span>
#include <string_view>

namespace dovetail::cli {

struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;
};
std::span<const EnvironmentVariable> environment_variables();

}  // namespace dovetail::cli

// Scripts by which shells complete what is typed after `dovetail`, made of the tree of commands: commands, options,
// choices, and files where a file is meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/command_tree.h"

namespace dovetail::cli {

struct Shell {
  std::string_view name;
  std::string_view file;  // under which the shell finds the script
  std::string (*script)(const CommandTree& tree);
};
const std::vector<Shell>& shells();

std::string bash_completion(const CommandTree& tree);
std::string zsh_completion(const CommandTree& tree);
std::string fish_completion(const CommandTree& tree);

}  // namespace dovetail::cli

// Generates from the tree of commands the scripts by which shells complete the command line of `dovetail`: commands,
// options, choices and files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/command_tree.h"

namespace dovetail::cli {

struct Shell {
  std::string_view name;
  std::string_view file;  // name of the file in which the shell finds the script
  std::string (*script)(const CommandTree& tree);
};
const std::vector<Shell>& shells();

std::string bash_completion(const CommandTree& tree);
std::string zsh_completion(const CommandTree& tree);
std::string fish_completion(const CommandTree& tree);

}  // namespace dovetail::cli

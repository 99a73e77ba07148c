// What the command line takes, as a value: one walk of the parser makes it. Help, completions and suggestions come from
// it, so that none of them knows a command or an option by itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/environment_variables.h"

namespace dovetail::cli {

// What a value may be, for completions.
struct Completion {
  std::vector<std::string> words = {};
  bool files = false, folders = false;
  bool list = false;  // of words, with commas between
};

struct OptionOutline {
  std::vector<std::string> names;  // "-o", "--target"; of a positional, what represents it: "MODEL.onnx"
  std::string placeholder;         // of the value; empty: it takes none
  std::string help;
  bool positional = false, required = false, repeatable = false;
  Completion completion = {};

  bool takes_value() const { return !positional && !placeholder.empty(); }
};

struct CommandOutline {
  std::string name, summary, footer;   // the footer ends the help: remarks, and a line "Example: ..."
  std::vector<OptionOutline> options;  // in the order in which they were declared; none that is hidden
};

struct CommandTree {
  CommandOutline program;  // `dovetail` itself
  std::vector<CommandOutline> commands;
  std::span<const EnvironmentVariable> environment = {};

  const CommandOutline* find(std::string_view command) const;  // null: there is none of that name
};

// The help of a command, or of the program with the lists of its commands and variables; no line is longer than
// `width`, but for words that are. A command line of an example continues after a backslash, so that it can be copied.
std::string help_text(const CommandTree& tree, const CommandOutline& command, std::size_t width);

}  // namespace dovetail::cli

// The commands and options as a value, made by one walk of the parser. Help, completions and suggestions are generated
// from it, so that none of them lists commands or options itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/environment_variables.h"

namespace dovetail::cli {

// The possible values of an option, for completions.
struct Completion {
  std::vector<std::string> words = {};
  bool files = false, folders = false;
  bool list = false;  // a list of words, separated by commas
};

struct OptionOutline {
  std::vector<std::string> names;  // "-o", "--target"; for a positional its placeholder: "MODEL.onnx"
  std::string placeholder;         // placeholder of the value; empty: the option takes no value
  std::string help;
  bool positional = false, required = false, repeatable = false;
  Completion completion = {};

  bool takes_value() const { return !positional && !placeholder.empty(); }
};

struct CommandOutline {
  std::string name, summary, footer;   // the footer ends the help: remarks, and a line "Example: ..."
  std::vector<OptionOutline> options;  // in the order of declaration, without hidden ones
};

struct CommandTree {
  CommandOutline program;  // `dovetail` itself
  std::vector<CommandOutline> commands;
  std::span<const EnvironmentVariable> environment = {};

  const CommandOutline* find(std::string_view command) const;  // null: unknown
};

// The help of a command, or of the program with the lists of its commands and variables; no line is longer than
// `width`, unless a single word is. A command line of an example continues after a backslash, so that it can be copied.
std::string help_text(const CommandTree& tree, const CommandOutline& command, std::size_t width);

}  // namespace dovetail::cli

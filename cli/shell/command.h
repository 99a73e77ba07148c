// A command of `dovetail`: what it takes, and what it does. Each lives in a file of cli/commands; cli/commands/all.cpp
// lists them.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "cli/shell/options.h"

namespace dovetail::cli {

// The process's exit code: part of the stable contract.
enum class Exit : int {
  success = 0,
  // the work failed: a mismatch, a race, a deadlock, a limit that has passed; or the machine gave no more
  failed = 1,
  bad_input = 2,  // bad usage, or a file that cannot be taken
};

class Command {
 public:
  virtual ~Command() = default;

  // Called once, before run(): binds the command's members to options. They keep their initial values where an option
  // is absent.
  virtual void declare(Options& options) = 0;
  // Diagnostics mean bad_input, or failed where one of them is of Cause::resource; a command that took its input and
  // failed prints with fail() and returns what that returns.
  virtual Result<Exit> run() = 0;
};

struct CommandRow {
  std::string_view name;
  std::string_view summary;  // one line of `dovetail --help`
  std::unique_ptr<Command> (*make)();
};
std::span<const CommandRow> all_commands();

// Prints to stderr, a paragraph each, and returns `exit`. What is equal but for place and numbers is one paragraph with
// a count (cli/shell/grouped.h); of very many paragraphs the first are printed and the rest counted.
Exit fail(Exit exit, const Diagnostics& all);

// Runs the command named by the arguments. Never throws.
Exit run_command_line(int argument_count, const char* const* arguments);

}  // namespace dovetail::cli

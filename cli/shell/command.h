// A command of `dovetail`: its options and its work. Each command is a file in cli/commands; cli/commands/all.cpp lists
// them.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "cli/shell/options.h"

namespace dovetail::cli {

struct BoardArguments;

// The process's exit code: part of the stable contract.
enum class Exit : int {
  success = 0,
  // the work failed: a mismatch, a race, a deadlock, an exceeded limit; or the machine has no more resources
  failed = 1,
  bad_input = 2,  // bad usage, or a file that cannot be used
};

class Command {
 public:
  virtual ~Command() = default;

  // Called once, before run(): binds the command's members to options. A member keeps its initial value if its
  // option is absent.
  virtual void declare(Options& options) = 0;
  // Diagnostics mean bad_input, or failed if one of them has Cause::work or Cause::resource. A command that accepted
  // its input and then failed prints with fail() and returns its result.
  virtual Result<Exit> run() = 0;
  // The options by which a board runs the whole command in place of this process; null: the command has none, or
  // divides its work between boards itself. Called when the options have been parsed.
  virtual const BoardArguments* board() const { return nullptr; }
};

struct CommandRow {
  std::string_view name;
  std::string_view summary;  // one line of `dovetail --help`
  std::unique_ptr<Command> (*make)();
};
std::span<const CommandRow> all_commands();

// Prints to stderr, a paragraph for each diagnostic, and returns `exit`. Diagnostics that differ only in place and
// numbers share one paragraph with a count (cli/shell/grouped.h). Of very many paragraphs the first are printed and the
// rest are counted.
Exit fail(Exit exit, const Diagnostics& all);

// Runs the command named by the arguments. Never throws.
Exit run_command_line(int argument_count, const char* const* arguments);

}  // namespace dovetail::cli

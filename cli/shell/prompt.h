// Reads commands, one per line: from a file, from stdin, or typed at a terminal, with line editing and a history. There
// Ctrl-C stops the running command instead of the process.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::cli {

class Prompt {
 public:
  // `path`: a file of commands; nullopt: stdin. `text` is shown before each line that is typed. Error: no such file.
  static Result<Prompt> open(const std::optional<std::string>& path, std::string_view text);
  Prompt(Prompt&&) noexcept;
  Prompt& operator=(Prompt&&) noexcept;
  ~Prompt();

  bool is_terminal() const;
  // "commands:12": the source and number of the last line that next() returned.
  std::string place() const;

  // nullopt: no more lines. At a terminal, an empty line repeats the previous one, and Ctrl-C discards the typed text.
  std::optional<std::string> next();

  // Whether Ctrl-C was pressed since next() returned a line. A second Ctrl-C ends the process. Always false if stdin is
  // not a terminal.
  bool interrupted() const;

 private:
  struct State;
  explicit Prompt(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::cli

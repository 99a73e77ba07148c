// Commands that come one a line: from a file, from stdin, or typed at a terminal, where lines can be edited, have a
// history, and Ctrl-C stops what runs instead of the process.
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
  // `path`: a file of commands; nothing: stdin. `text` stands before each line that is typed. Error: no such file.
  static Result<Prompt> open(const std::optional<std::string>& path, std::string_view text);
  Prompt(Prompt&&) noexcept;
  Prompt& operator=(Prompt&&) noexcept;
  ~Prompt();

  bool is_terminal() const;
  // "commands:12", the line that next() gave last.
  std::string place() const;

  // Nothing: there are no more. At a terminal an empty line is the one before it again, and Ctrl-C drops what has been
  // typed.
  std::optional<std::string> next();

  // Ctrl-C was pressed since next() gave a line. Once: the next one ends the process. Always false off a terminal.
  bool interrupted() const;

 private:
  struct State;
  explicit Prompt(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::cli

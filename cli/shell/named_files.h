// The files that a command line names: checks that no file is both read and written, or written twice, and that the
// folder of each written file exists; and handles `-` for stdin and stdout (cli/shell/standard_streams.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cli {

// The kind of file that a value of the command line names.
enum class File {
  none,
  read,             // a file, or a folder of them
  written,          // bytes that must not go to a terminal
  written_text,     //
  read_by_name,     // not `-`: a library opens the file, or reads and writes it in place
  written_by_name,  //
  folder            // written to, and created if missing; its parent folder must exist
};

class NamedFiles {
 public:
  using Change = std::function<void(std::string& path)>;

  // `option` as typed. `each` is called after parsing with a function, to which it passes every path, and whose results
  // replace the paths.
  void add(std::string_view option, File role, std::function<void(const Change&)> each);

  // Error: a written file is also read or written by another option, under any path or link (devices and pipes may be
  // named several times); or its folder does not exist. `further`: other
  // paths that `option` will write.
  Result<void> check(std::string_view option = {}, const std::vector<std::string>& further = {}) const;

  // For a command that a board runs for a client. Error: a file that is not below the working folder.
  Result<void> check_below() const;

  // Copies stdin into a file if `-` is read, and reserves stdout if `-` is written. `takes_stdout`: the command itself
  // prints to stdout (--json). Error: a stream is required twice, or is a terminal.
  Result<void> open_standard_streams(bool takes_stdout) const;
  bool writes() const;  // whether an option writes a file

 private:
  struct Named {
    std::string option;
    File role;
    std::function<void(const Change&)> each;
  };
  struct Use {
    std::string option, path;
    File role;
  };
  std::vector<Use> uses() const;

  std::vector<Named> files_;
};

}  // namespace dovetail::cli

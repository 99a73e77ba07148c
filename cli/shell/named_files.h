// The files that a command line names, so that nothing it writes is something it reads, or is written twice, or comes
// to a folder that somebody has mistyped; and `-` for stdin and stdout (cli/shell/standard_streams.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cli {

// What a value of the command line names.
enum class File {
  none,
  read,             // a file, or a folder of them
  written,          // bytes that no terminal is to see
  written_text,     //
  read_by_name,     // not `-`: a library opens it, or reads and writes it in place
  written_by_name,  //
  folder            // is written to, and made where it is missing; the folder around it is not
};

class NamedFiles {
 public:
  using Change = std::function<void(std::string& path)>;

  // `option` as typed; `each` is asked after parsing: it calls its argument with every path, and keeps what that makes
  // of it.
  void add(std::string_view option, File role, std::function<void(const Change&)> each);

  // Error: a written file is also read or written by another option, under whatever path or link (devices and pipes may
  // be named as often as one likes); or the folder that it is for is not there. `further`: paths that `option` will
  // write besides.
  Result<void> check(std::string_view option = {}, const std::vector<std::string>& further = {}) const;

  // Puts what stdin holds into a file where `-` is read, and reserves stdout where `-` is written; `takes_stdout`: the
  // command prints something there by itself (--json). Error: a stream is required twice, or is a terminal.
  Result<void> open_standard_streams(bool takes_stdout) const;
  bool writes() const;  // any of them

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

// The files that a command line names, so that nothing it writes is something it reads, or is written twice.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cli {

enum class File { none, read, written };  // what a value of the command line names

class NamedFiles {
 public:
  // `option` as typed; `paths` is asked after parsing.
  void add(std::string_view option, File role, std::function<std::vector<std::string>()> paths);

  // Error: a written file is also read or written by another option, under whatever path or link. Devices and pipes may
  // be named as often as one likes. `further`: paths that `option` will write besides.
  Result<void> check(std::string_view option = {}, const std::vector<std::string>& further = {}) const;

 private:
  struct Named {
    std::string option;
    File role;
    std::function<std::vector<std::string>()> paths;
  };
  std::vector<Named> files_;
};

}  // namespace dovetail::cli

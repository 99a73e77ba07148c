// Programs that a command starts: Verilator, Yosys, compilers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dovetail {

struct ChildProcess {
  std::string script;                                               // of sh
  std::filesystem::path folder = {};                                // its working folder; empty: that of this process
  std::vector<std::pair<std::string, std::string>> variables = {};  // on top of this process's environment
  std::filesystem::path log = {};                                   // what it prints is appended; empty: nowhere
};

struct ChildEnd {
  int exit = -1;   // -1: a signal ended it
  int signal = 0;  // which
};

// Runs the script to its end, with nothing to read. It has a process group of its own; neither it nor anything that it
// starts there outlives this process, however that one ends. Error: it cannot be started.
Result<ChildEnd> run_child(const ChildProcess& child);

// What the script prints, where it ends well; nullopt: it does not. Error: it cannot be started.
Result<std::optional<std::string>> output_of(const std::string& script);

// Whether there is a program of this name on the PATH.
bool is_on_path(std::string_view program);

}  // namespace dovetail

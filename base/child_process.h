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
  std::string script;                 // for sh
  std::filesystem::path folder = {};  // working folder; empty: this process's working folder
  std::vector<std::pair<std::string, std::string>> variables = {};  // added to this process's environment
  std::filesystem::path log = {};  // receives the appended output; empty: output is discarded
};

struct ChildEnd {
  int exit = -1;   // -1: ended by a signal
  int signal = 0;  // number of that signal
};

// Runs the script to its end, without input. The script has its own process group; neither it nor anything that it
// starts in that group outlives this process, however this process ends. Error: it cannot be started.
Result<ChildEnd> run_child(const ChildProcess& child);

// Returns the script's output if it succeeds, else nullopt. Error: it cannot be started.
Result<std::optional<std::string>> output_of(const std::string& script);

// Whether the PATH has a program of this name.
bool is_on_path(std::string_view program);

}  // namespace dovetail

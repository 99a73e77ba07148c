// Declaring a command's options. This header hides the parsing library, whose own header is heavy: only options.cpp
// includes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace dovetail::cli {

enum class Need { required, optional };

// `name` is as typed ("--hw", "-o"); `placeholder` represents the value in the help ("CONFIG"). Targets outlive the
// parsing.
class Options {
 public:
  Options(CLI::App& app, std::string& refusal) : app_(app), refusal_(refusal) {}

  void positional(std::string_view placeholder, std::string& target, std::string_view help, Need need = Need::required);
  void value(std::string_view name, std::string_view placeholder, std::string& target, std::string_view help,
             Need need = Need::optional);
  void value(std::string_view name, std::string_view placeholder, std::optional<std::string>& target,
             std::string_view help);
  void values(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
              std::string_view help);  // repeatable
  void flag(std::string_view name, bool& target, std::string_view help);
  // An option of the full command line that this version does not have: using it is an error that says so, not a silent
  // nothing.
  void unavailable(std::string_view name, std::string_view why);
  // The end of the help: a command line that works, and remarks.
  void footer(std::string_view text);

 private:
  CLI::App& app_;
  std::string& refusal_;  // set by an unavailable option in use
};

}  // namespace dovetail::cli

// Declaring a command's options. This header hides the parsing library, whose own header is heavy: only options.cpp
// includes it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/named_files.h"

namespace CLI {
class App;
}

namespace dovetail::cli {

enum class Need { required, optional };

// `name` is as typed ("--hw", "-o"); `placeholder` represents the value in the help ("CONFIG"). Targets outlive the
// parsing. `file`: the value is the path of a file; of a repeatable option, what is behind its last '='.
class Options {
 public:
  Options(CLI::App& app, std::string& refusal, std::shared_ptr<NamedFiles> files)
      : app_(app), refusal_(refusal), files_(std::move(files)) {}

  void positional(std::string_view placeholder, std::string& target, std::string_view help, Need need = Need::required,
                  File file = File::none);
  // All that follow.
  void positionals(std::string_view placeholder, std::vector<std::string>& target, std::string_view help,
                   File file = File::none);
  void value(std::string_view name, std::string_view placeholder, std::string& target, std::string_view help,
             Need need = Need::optional, File file = File::none);
  void value(std::string_view name, std::string_view placeholder, std::optional<std::string>& target,
             std::string_view help, File file = File::none);
  void values(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
              std::string_view help, File file = File::none);  // repeatable
  // Repeatable, "FILE@PLACE" each.
  void placed_files(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
                    std::string_view help, File file);
  void flag(std::string_view name, bool& target, std::string_view help);
  // An option of the full command line that this version does not have: using it is an error that says so, not a silent
  // nothing.
  void unavailable(std::string_view name, std::string_view why);
  // The end of the help: a command line that works, and remarks.
  void footer(std::string_view text);

  // For a command that writes more files than its options name.
  std::shared_ptr<const NamedFiles> files() const { return files_; }

 private:
  CLI::App& app_;
  std::string& refusal_;  // set by an unavailable option in use
  std::shared_ptr<NamedFiles> files_;
};

}  // namespace dovetail::cli

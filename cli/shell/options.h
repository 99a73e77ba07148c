// Declares a command's options. This header hides the parsing library, whose header is large: only options.cpp includes
// it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/shell/command_tree.h"
#include "cli/shell/named_files.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dovetail::cli {

class Shipment;

enum class Need { required, optional };

// Where the path of a file is in an option's value.
enum class PathIn { whole, after_equals, before_at };
struct FileValue {
  File role;
  PathIn place;
};

// The words of the command line, as another machine runs it with the files of a shipment; without the program's name
// and the options of cli/shell/board_arguments.h. Valid while the command runs.
class CommandWords {
 public:
  Result<std::vector<std::string>> of(Shipment& shipment) const { return make_(shipment); }
  void set(std::function<Result<std::vector<std::string>>(Shipment&)> make) { make_ = std::move(make); }

 private:
  std::function<Result<std::vector<std::string>>(Shipment&)> make_;
};

// The completion of each option's values.
using Completions = std::map<const CLI::Option*, Completion>;

// An option that is being declared, for settings that few options have.
class Declared {
 public:
  explicit Declared(Completion& completion) : completion_(completion) {}
  // The value is one of `words`, for completions only: the command itself checks values.
  Declared& choices(std::vector<std::string> words) {
    completion_.words = std::move(words);
    return *this;
  }
  // The value is a list of `words`, separated by commas.
  Declared& list(std::vector<std::string> words) {
    completion_.list = true;
    return choices(std::move(words));
  }

 private:
  Completion& completion_;
};

// `name` is as typed ("--hw", "-o"); `placeholder` represents the value in the help ("CONFIG"); some placeholders have
// the same choices everywhere (CONFIG, ENGINE). Targets outlive the parsing. `file`: the value is the path of a file;
// for a repeatable option, the part of the value after its last '='.
class Options {
 public:
  // State that all options of a command line share.
  struct Shared {
    std::string refusal;  // set when an unavailable option is used
    Completions completions;
    std::map<const CLI::Option*, FileValue> files;
    CommandTree tree;  // complete when all options are declared
    std::shared_ptr<CommandWords> words = std::make_shared<CommandWords>();
  };
  Options(CLI::App& app, Shared& shared, std::shared_ptr<NamedFiles> files)
      : app_(app), shared_(shared), files_(std::move(files)) {}

  Declared positional(std::string_view placeholder, std::string& target, std::string_view help,
                      Need need = Need::required, File file = File::none);
  // A positional for all remaining arguments.
  Declared positionals(std::string_view placeholder, std::vector<std::string>& target, std::string_view help,
                       File file = File::none);
  Declared value(std::string_view name, std::string_view placeholder, std::string& target, std::string_view help,
                 Need need = Need::optional, File file = File::none);
  Declared value(std::string_view name, std::string_view placeholder, std::optional<std::string>& target,
                 std::string_view help, File file = File::none);
  Declared values(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
                  std::string_view help, File file = File::none);  // repeatable
  // A repeatable option with values "FILE@PLACE".
  void placed_files(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
                    std::string_view help, File file);
  // `former_name` is accepted too, but not listed in the help.
  void flag(std::string_view name, bool& target, std::string_view help, std::string_view former_name = {});
  // --json: the report as JSON instead of text, in the form of docs/schema.
  void json(bool& target, std::string_view help = "print the report as JSON (docs/reference/command-line.md)");
  // An option of the full command line that this version does not have: its use is an error.
  void unavailable(std::string_view name, std::string_view why);
  // The end of the help: remarks, and an example of a command line that works.
  void footer(std::string_view text);

  // For a command that writes more files than its options name.
  std::shared_ptr<const NamedFiles> files() const { return files_; }
  std::shared_ptr<const CommandWords> words() const { return shared_.words; }
  // Complete when the command runs.
  const CommandTree& tree() const { return shared_.tree; }

 private:
  Declared declared(const CLI::Option* option, std::string_view placeholder, File file, PathIn place = PathIn::whole);

  CLI::App& app_;
  Shared& shared_;
  std::shared_ptr<NamedFiles> files_;
};

}  // namespace dovetail::cli

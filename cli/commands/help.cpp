#include <string_view>
#include <vector>

#include "cli/commands/all.h"
#include "cli/shell/output.h"
#include "cli/shell/terminal.h"
#include "isa/nearest.h"

namespace dovetail::cli {

namespace {

class Help : public Command {
 public:
  void declare(Options& options) override {
    std::vector<std::string> names;
    for (const CommandRow& row : all_commands()) names.emplace_back(row.name);
    options.positional("COMMAND", command_, "the command to describe (default: list all commands)", Need::optional)
        .choices(std::move(names));
    options.footer("Example: dovetail help run");
    tree_ = &options.tree();
  }

  Result<Exit> run() override {
    const CommandOutline* outline = command_.empty() ? &tree_->program : tree_->find(command_);
    if (outline == nullptr) {
      std::vector<std::string_view> names;
      for (const CommandOutline& command : tree_->commands) names.push_back(command.name);
      return Diagnostic{"bad usage of `dovetail help`", command_, "there is no command of this name",
                        isa::suggestion(command_, names)};
    }
    write_result(help_text(*tree_, *outline, help_width()));
    return Exit::success;
  }

 private:
  const CommandTree* tree_ = nullptr;
  std::string command_;
};

}  // namespace

std::unique_ptr<Command> make_help() { return std::make_unique<Help>(); }

}  // namespace dovetail::cli

#include <filesystem>

#include <fmt/format.h>

#include "cli/commands/all.h"
#include "cli/shell/completion.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "driver/tensor_files.h"

namespace dovetail::cli {

namespace {

class CompletionCommand : public Command {
 public:
  void declare(Options& options) override {
    options.positional("SHELL", shell_, "bash, zsh or fish; or all, which needs -o: a file for each shell")
        .choices({"bash", "zsh", "fish", "all"});
    options.value("-o", "FILE|DIR", output_, "write the script to this file instead of printing it; for all: a folder",
                  File::written_text);
    options.footer(
        "The script knows the commands and options of this version, and completes choices, configurations and files.\n"
        "Try it with `source <(dovetail completion bash)`; docs/reference/command-line.md names the folder where each "
        "shell looks "
        "for it.\n"
        "Example: dovetail completion bash -o ~/.local/share/bash-completion/completions/dovetail");
    tree_ = &options.tree();
  }

  Result<Exit> run() override {
    if (shell_ == "all") return write_all();
    for (const Shell& shell : shells()) {
      if (shell.name != shell_) continue;
      const std::string script = shell.script(*tree_);
      if (output_) DOVETAIL_TRY(write_result_text(*output_, script));
      else write_result(script);
      return Exit::success;
    }
    return Diagnostic{"bad usage of `dovetail completion`", shell_, "there is no script for this shell",
                      "give bash, zsh or fish"};
  }

 private:
  Result<Exit> write_all() const {
    if (!output_)
      return Diagnostic{"bad usage of `dovetail completion`", shell_, "no folder is given for the scripts",
                        "add -o DIR"};
    DOVETAIL_TRY(driver::make_result_folder("-o", *output_));
    for (const Shell& shell : shells())
      DOVETAIL_TRY(write_result_text(std::filesystem::path(*output_) / shell.file, shell.script(*tree_)));
    return Exit::success;
  }

  const CommandTree* tree_ = nullptr;
  std::string shell_;
  std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_completion() { return std::make_unique<CompletionCommand>(); }

}  // namespace dovetail::cli

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "base/file.h"
#include "bundle/bundle.h"
#include "cli/commands/all.h"
#include "cli/debugger.h"
#include "cli/emit_region.h"
#include "cli/output.h"
#include "cli/program_check.h"
#include "cli/program_input.h"
#include "cli/system.h"
#include "cli/verify_bundle.h"
#include "simulator/debug/session.h"

namespace dovetail::cli {

namespace {

// Lines of a file, or of stdin.
class Script {
 public:
  static Result<Script> open(const std::optional<std::string>& path) {
    Script script;
    if (!path) return script;
    DOVETAIL_ASSIGN(script.text_, read_text_file(*path));
    script.name_ = *path;
    script.is_file_ = true;
    return script;
  }

  bool is_terminal() const { return !is_file_ && isatty(STDIN_FILENO) == 1; }
  std::string place() const { return fmt::format("{}:{}", name_, line_); }
  std::optional<std::string> next(std::string_view prompt) {
    std::string line;
    if (!is_file_) {
      if (is_terminal()) print("{}", prompt);
      if (!flush_output() || !std::getline(std::cin, line)) return std::nullopt;
    } else {
      if (at_ >= text_.size()) return std::nullopt;
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      line = text_.substr(at_, end - at_);
      at_ = end + 1;
    }
    ++line_;
    return line;
  }

 private:
  std::string name_ = "stdin", text_;
  std::size_t at_ = 0, line_ = 0;
  bool is_file_ = false;
};

class Debug : public Command {
 public:
  void declare(Options& options) override {
    input_.declare(options);
    options.value("--region", "N", region_, "of a bundle: which of its accelerator regions, from 0 (default 0)");
    options.flag("--trust", trust_, kTrustHelp);
    options.value("-x", "FILE", script_, "take the commands from a file instead of stdin", File::read);
    options.json(json_, "print what each command says as a line of JSON");
    system_.declare(options);
    options.footer(
        "PROGRAM may be a bundle (.dvt): a region of it, with the inputs of a run on random numbers.\n\n" +
        Debugger::help() +
        "\nExit codes: 0, 1 the program failed (a deadlock, an undefined read, ...), 2 a command is not understood.\n"
        "Example: dovetail debug examples/assembly/matmul.s -x commands.txt");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const ProgramInput input, read());
    DOVETAIL_ASSIGN(
        const System system,
        resolve_system(input.machine.system, input_.hardware.value_or(input.machine.hardware.name), system_));
    simulator::EngineOptions engine;
    engine.memory = system.memory;
    DOVETAIL_ASSIGN(const isa::VerifyReport report, verify_input(input_, input));
    DOVETAIL_ASSIGN(Script script, Script::open(script_));
    simulator::DebugSession session(input.machine.hardware, input.program, input.launches, input.dram, engine);
    Debugger debugger(input, session, report, [this](std::string_view text) { say(text); });

    say(fmt::format("{} instructions, {} launch{}, {}\n", input.program.size(), input.launches.size(),
                    input.launches.size() == 1 ? "" : "es", input.machine.hardware.name));
    if (!report.clean())
      say(fmt::format("check finds {}: what runs here is one order of several; `races` shows them\n",
                      report.findings.size() + report.suppressed == 1
                          ? std::string("1 fault")
                          : fmt::format("{} faults", report.findings.size() + report.suppressed)));
    debugger.show_place();
    answer(nullptr, true);
    bool had_failed = false;
    while (const auto line = script.next(json_ ? "" : "(debug) ")) {
      auto done = debugger.command(*line);
      answer(*line, done.ok());
      if (done.ok() && *done == Debugger::After::quits) break;
      if (done.ok()) continue;
      Diagnostics errors = done.errors();
      if (!debugger.has_failed() && !script.is_terminal()) {
        for (Diagnostic& error : errors) error.where = fmt::format("{}: {}", script.place(), error.where);
        return errors;
      }
      fail(Exit::failed, errors);
      had_failed |= debugger.has_failed();
    }
    return had_failed ? Exit::failed : Exit::success;
  }

 private:
  void say(std::string_view text) {
    if (json_) said_ += text;
    else write_report(text);
  }
  // One line of JSON for each command; for null, what is said before the first.
  void answer(const Json& command, bool done) {
    if (!json_) return;
    const Json line{{"kind", "debug"}, {"command", command}, {"output", std::exchange(said_, {})}, {"done", done}};
    write_result(line.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n");
  }

  Result<ProgramInput> read() const {
    if (!input_.program.ends_with(bundle::kFileExtension)) {
      DOVETAIL_ASSIGN(ProgramInput input, read_program_input(input_, "debug"));
      return input;
    }
    DOVETAIL_ASSIGN(const bundle::Bundle bundle, read_bundle_to_run(input_.program, trust_));
    return region_input(bundle, region_);
  }

  ProgramArguments input_;
  SystemArguments system_;
  std::string region_ = "0";
  std::optional<std::string> script_;
  bool trust_ = false, json_ = false;
  std::string said_;  // since the last answer
};

}  // namespace

std::unique_ptr<Command> make_debug() { return std::make_unique<Debug>(); }

}  // namespace dovetail::cli

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bundle/bundle.h"
#include "cli/commands/all.h"
#include "cli/program/debugger.h"
#include "cli/program/emit_region.h"
#include "cli/program/program_check.h"
#include "cli/program/program_input.h"
#include "cli/shell/output.h"
#include "cli/shell/prompt.h"
#include "cli/shell/session_arguments.h"
#include "driver/bundle_file.h"
#include "driver/design_clock.h"
#include "driver/system.h"
#include "simulator/debug/session.h"

namespace dovetail::cli {

namespace {

class Debug : public Command {
 public:
  void declare(Options& options) override {
    input_.declare(options);
    options.value("--region", "N", region_, "for a bundle: number of the accelerator region, from 0 (default 0)");
    options.flag("--trust", trust_, kTrustHelp);
    options.value("-x", "FILE", script_, "read the commands from a file instead of stdin", File::read);
    options.json(json_, "print the answer to each command as a line of JSON");
    system_.declare(options);
    options.footer(
        "PROGRAM may be a bundle (.dvt): one of its regions is run, with the inputs that a run on random numbers gives "
        "it.\n"
        "At a terminal an empty line repeats the last command, and Ctrl-C stops a running command.\n\n" +
        Debugger::help() +
        "\nExit codes: 0, 1 the program failed (a deadlock, an undefined read, ...), 2 a command is not understood.\n"
        "Example: dovetail debug examples/assembly/matmul.s -x commands.txt");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(ProgramInput input, read());
    settle_offset(input);
    DOVETAIL_ASSIGN(driver::SystemChanges changes, system_.parse());
    DOVETAIL_ASSIGN(changes, driver::with_clock_model(input.machine, std::move(changes)));
    DOVETAIL_ASSIGN(
        const driver::System system,
        driver::resolve_system(input.machine.system, input_.hardware.value_or(input.machine.hardware.name), changes));
    DOVETAIL_TRY(refuse_several(system, "`dovetail debug`"));
    simulator::EngineOptions engine;
    engine.memory = system.memory;
    const isa::VerifyReport report = verify_input(input);
    DOVETAIL_ASSIGN(Prompt prompt, Prompt::open(script_, json_ ? "" : "(debug) "));
    simulator::DebugSession session(input.machine.hardware, input.program, input.launches, input.dram, engine);
    Debugger debugger(
        input, session, report, [this](std::string_view text) { say(text); }, [&] { return prompt.interrupted(); });

    say(fmt::format("{} instructions, {} launch{}, {}\n", input.program.size(), input.launches.size(),
                    input.launches.size() == 1 ? "" : "es", input.machine.hardware.name));
    if (!report.clean())
      say(fmt::format("check finds {}: this is only one of several possible orders; `races` shows the races\n",
                      report.findings.size() + report.suppressed == 1
                          ? std::string("1 fault")
                          : fmt::format("{} faults", report.findings.size() + report.suppressed)));
    debugger.show_place();
    answer(nullptr, true);
    bool had_failed = false;
    while (const auto line = prompt.next()) {
      auto done = debugger.command(*line);
      answer(*line, done.ok());
      if (done.ok() && *done == Debugger::After::quits) break;
      if (done.ok()) continue;
      Diagnostics errors = done.errors();
      if (!debugger.has_failed() && !prompt.is_terminal()) {
        for (Diagnostic& error : errors) error.where = fmt::format("{}: {}", prompt.place(), error.where);
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
  // Prints one line of JSON for each command. `command` is null for the text before the first command.
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
    DOVETAIL_ASSIGN(const bundle::Bundle bundle, driver::read_bundle_to_run(input_.program, trust_));
    return region_input(bundle, region_);
  }

  ProgramArguments input_;
  SystemArguments system_;
  std::string region_ = "0";
  std::optional<std::string> script_;
  bool trust_ = false, json_ = false;
  std::string said_;  // text since the last answer
};

}  // namespace

std::unique_ptr<Command> make_debug() { return std::make_unique<Debug>(); }

}  // namespace dovetail::cli

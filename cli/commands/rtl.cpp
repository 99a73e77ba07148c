#include <optional>

#include <fmt/format.h>

#include "cli/commands/all.h"
#include "cli/commands/build_model.h"
#include "cli/program/program_file.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "driver/compile_model.h"
#include "isa/config.h"
#include "simulator/rtl/find.h"

namespace dovetail::cli {

namespace {

class Rtl : public Command {
 public:
  void declare(Options& options) override {
    options
        .positional("ACTION", action_,
                    "build: make the Verilated model of a configuration if it is missing; find: print its path")
        .choices({"build", "find"});
    options.value("--hw", "CONFIG", hardware_, fmt::format("{} (default {})", kHardwareHelp, driver::kDefaultHardware));
    options.flag("--waves", waves_, "make a model that can write waveforms, for --waves; it is slower");
    options.flag("--synthesis-dot", synthesis_,
                 "use the dot product as it is synthesized, instead of one that simulates fast");
    options.flag("--fast-build", fast_, "make a model that builds faster and runs slower");
    options.value("--design", "DIR", design_, "the folder with rtl/, sva/ and tb/ (default: this kit's design)");
    options.value("--into", "DIR", into_,
                  "folder for the model, created if it is missing (default: the cache, where --engine rtl finds it)",
                  File::folder);
    options.json(json_);
    options.footer(
        "Needs Verilator. --engine rtl builds a missing model itself, as without --fast-build.\n"
        "Example: dovetail rtl build --hw 4x8x8");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const auto config, isa::load_config(hardware_));
    if (action_ == "find") {
      DOVETAIL_ASSIGN(const auto path, simulator::find_rtl_model(config, waves_));
      if (json_) print_json({{"kind", "rtl"}, {"config", config.name}, {"model", path.string()}, {"new", false}});
      else write_result(path.string() + "\n");
      return Exit::success;
    }
    if (action_ != "build")
      return Diagnostic{"bad usage of `dovetail rtl`", action_, "the actions are build and find",
                        "see `dovetail rtl --help`"};
    return build_model(config, {.kind = {.waves = waves_, .synthesized_dot = synthesis_, .optimize = !fast_},
                                .design = design_,
                                .into = into_,
                                .report_kind = "rtl",
                                .json = json_});
  }

 private:
  std::string action_, hardware_ = driver::kDefaultHardware;
  std::optional<std::string> design_, into_;
  bool waves_ = false, synthesis_ = false, fast_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_rtl() { return std::make_unique<Rtl>(); }

}  // namespace dovetail::cli

#include <chrono>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/all.h"
#include "cli/program_file.h"
#include "cli/text.h"
#include "isa/config.h"
#include "simulator/rtl/find.h"

namespace dovetail::cli {

namespace {

class Rtl : public Command {
 public:
  void declare(Options& options) override {
    options.positional("ACTION", action_,
                       "build: make the Verilated model of a configuration; find: print where it is");
    options.value("--hw", "CONFIG", hardware_, fmt::format("{} (default {})", kHardwareHelp, kDefaultHardware));
    options.flag("--waves", waves_, "a model that can write waveforms, for --waves; slower");
    options.flag("--synthesis-dot", synthesis_,
                 "with the dot product as it is synthesised, instead of the one that simulates fast");
    options.flag("--fast-build", fast_, "a model that is ready sooner and runs slower");
    options.value("--design", "DIR", design_, "the folder with rtl/, sva/ and tb/ (default: that of this kit)");
    options.value("--into", "DIR", into_, "where the model goes (default: the cache, where --engine rtl finds it)");
    options.footer("Needs Verilator.\nExample: dovetail rtl build --hw 4x8x8");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const auto config, isa::load_config(hardware_));
    if (action_ == "find") {
      DOVETAIL_ASSIGN(const auto path, simulator::find_rtl_model(config, waves_));
      fmt::print("{}\n", path.string());
      return Exit::success;
    }
    if (action_ != "build")
      return Diagnostic{"bad usage of `dovetail rtl`", action_, "the actions are build and find",
                        "see `dovetail rtl --help`"};
    simulator::RtlBuild build{.waves = waves_, .simulation_body = !synthesis_, .optimise = !fast_};
    if (design_) build.rtl = *design_;
    if (into_) build.into = *into_;
    const auto start = std::chrono::steady_clock::now();
    const auto path = simulator::build_rtl_model(config, build);
    if (!path.ok()) return fail(Exit::failed, path.errors());
    fmt::print("built         {} in {}\n", path->string(),
               seconds_text(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    return Exit::success;
  }

 private:
  std::string action_, hardware_ = kDefaultHardware;
  std::optional<std::string> design_, into_;
  bool waves_ = false, synthesis_ = false, fast_ = false;
};

}  // namespace

std::unique_ptr<Command> make_rtl() { return std::make_unique<Rtl>(); }

}  // namespace dovetail::cli

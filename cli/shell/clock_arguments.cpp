#include "cli/shell/clock_arguments.h"

#include <fmt/format.h>

#include "cli/shell/progress.h"
#include "runtime/executor.h"
#include "simulator/rtl/find.h"

namespace dovetail::cli {

void ClockArguments::declare(Options& options) {
  options.value("--trace", "T.json", trace,
                "write every instruction's cycles, for `dovetail trace` and for ui.perfetto.dev", File::written_text);
  options.value("--html", "PAGE.html", html,
                "write the run as a page for a browser: timeline, use of the cycles, roofline, layers, other hardware",
                File::written_text);
  options.value("--waves", "W.fst", waves,
                "for engine rtl: write the waveforms of the design; those of a second region as W-1.fst",
                File::written_by_name);
  options.flag("--assertions", assertions,
               "for engine rtl: stop when an assertion of the design fails; slower. Always on for a design that is\n"
               "not the kit's (DOVETAIL_HW)");
  options.flag("--no-build", no_build,
               "for engine rtl: do not run if the Verilated model of the configuration is missing, instead of\n"
               "building it");
}

Result<simulator::EngineOptions> ClockArguments::engine_options(std::string_view engine) const {
  simulator::EngineOptions options;
  if ((trace || html) && !runtime::has_timeline(engine))
    return Diagnostic{"bad usage", trace ? "--trace" : "--html", runtime::no_timeline(engine), "add --engine cycle"};
  if (waves && engine != "rtl")
    return Diagnostic{"bad usage", "--waves", fmt::format("engine {} has no waveforms", engine), "add --engine rtl"};
  if (assertions && engine != "rtl")
    return Diagnostic{"bad usage", "--assertions", fmt::format("engine {} has no assertions", engine),
                      "remove the option, or add --engine rtl"};
  if (no_build && engine != "rtl" && engine != "axi")
    return Diagnostic{"bad usage", "--no-build", fmt::format("engine {} needs no Verilated model", engine),
                      "remove the option, or add --engine rtl"};
  if (waves) options.waves = *waves;
  options.assertions = assertions || !simulator::is_design_of_kit();
  if (!no_build) options.build_missing = print_progress;
  options.trace = true;
  return options;
}

std::string ClockArguments::written(std::size_t programs) const {
  if (!waves) return {};
  std::string text = "waves         ";
  for (std::size_t i = 0; i < programs; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", simulator::waves_file(*waves, i).string());
  return text + "\n";
}

}  // namespace dovetail::cli

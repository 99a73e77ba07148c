#include "cli/shell/system_arguments.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "cli/shell/arguments.h"
#include "explore/area/clock_model.h"
#include "explore/technology/tables.h"
#include "runtime/executor.h"

namespace dovetail::cli {

void SystemArguments::declare(Options& options) {
  options.value("--clock", "MHZ|MODEL", clock,
                "clock of the accelerator in MHz (default: that of the configuration, which is 350 unless set), or\n"
                "ecp5: that of a model of the design on a Lattice ECP5 (docs/howto/place-and-route.md)");
  options.value("--memory", "MODEL", memory,
                "the DRAM of the accelerator (default: that of the configuration):\n"
                "ideal:latency=64,bytes=8,outstanding=16 (bytes 0: a beat; 36.57 too), perturbed:seed=7,\n"
                "bank:ddr4-2400|lpddr4|hbm2|ddr4-3200|ddr5-4800|lpddr5-6400|hbm3 or your own DRAM, bank:FILE.json\n"
                "(docs/reference/memory-models.md)");
  options.value("--accelerators", "N", accelerators,
                "number of accelerators that share the memory (default: that of the configuration, which is 1 unless\n"
                "set; docs/howto/several-accelerators.md)");
  options.value("--split", "WHAT", split,
                "what several accelerators divide: samples (default: each runs its own), layers (the work of each\n"
                "layer), stages (layers, in a pipeline of a batch's images)");
  options.value("--technology", "NAME|FILE.json", technology,
                "technology of the chip, for the clock of the design (default: cmos45, the kit's): cmos28, cmos7 "
                "or a file (docs/howto/own-memory-and-technology.md)",
                File::read);
}

Result<void> SystemArguments::check_engine(std::string_view engine, bool estimates) const {
  if (!runtime::has_clock(engine) && (memory || accelerators || split || (clock && !estimates)))
    return Diagnostic{"bad usage",
                      memory         ? "--memory"
                      : accelerators ? "--accelerators"
                      : split        ? "--split"
                                     : "--clock",
                      fmt::format("engine {} has no clock", engine), "add --engine cycle"};
  if (engine == "axi" && (memory || accelerators || split))
    return Diagnostic{"bad usage",
                      memory         ? "--memory"
                      : accelerators ? "--accelerators"
                                     : "--split",
                      "engine axi runs on one accelerator with the memory that its board has", "remove the option"};
  return {};
}

Result<driver::SystemChanges> SystemArguments::parse() const {
  driver::SystemChanges changes{.memory = memory};
  if (technology) {
    DOVETAIL_ASSIGN(const explore::Technology chosen, explore::choose_technology(technology));
    changes.level_ps = chosen.level_ps;
  }
  if (accelerators) {
    DOVETAIL_ASSIGN(changes.accelerators, parse_count("--accelerators", *accelerators, 1, isa::kMostAccelerators));
  }
  if (split) {
    changes.split = isa::split_named(*split);
    if (!changes.split)
      return Diagnostic{"invalid value for --split", *split, "accelerators cannot divide that",
                        "write samples, layers or stages"};
  }
  if (clock && *clock == explore::kClockModel) {
    changes.clock_model = *clock;
  } else if (clock) {
    double mhz = 0;
    const char* const end_of_text = clock->data() + clock->size();
    const auto [end, error] = std::from_chars(clock->data(), end_of_text, mhz);
    if (error != std::errc{} || end != end_of_text) mhz = std::numeric_limits<double>::quiet_NaN();
    DOVETAIL_TRY(driver::check_clock(mhz, *clock));
    changes.clock_mhz = mhz;
  }
  return changes;
}

}  // namespace dovetail::cli

// Runs firmware on the system on chip: finds or builds the design's model, and measures the run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"
#include "driver/soc.h"
#include "isa/config.h"
#include "simulator/soc/system.h"

namespace dovetail::driver {

struct SystemMeasured {
  simulator::soc::SystemRun run;
  double seconds = 0;  // of the simulation
};

// The Verilated model that the options name, or mean; of engine systemc an empty path. Errors: it is missing and may
// not be built, or cannot be.
Result<std::filesystem::path> soc_model(const isa::HardwareConfig& config, const SocOptions& options);

// `memory`, `memory_bytes` and `serial_input` are those of the system; its other fields come from the options. `title`:
// the firmware, for messages. Errors include a run that does not end (Cause::work).
Result<SystemMeasured> run_system(std::span<const std::byte> firmware, const std::filesystem::path& model,
                                  simulator::soc::SystemOptions system, const SocOptions& options,
                                  const std::string& title);

}  // namespace dovetail::driver

// The engine `systemc` is a separate shared object, so that nothing else needs SystemC: built if SystemC is installed,
// and loaded on demand.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "isa/config.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// The file is in lib/dovetail of the kit (base/kit_folder.h).
std::optional<std::filesystem::path> find_systemc_engine();

// Why the engine is missing, and which command installs it.
Diagnostic no_systemc_engine();

// Same values, cycles and diagnostics as make_cycle(). Simulations of one process run one at a time. Precondition:
// validate(config). Error: the shared object is missing or cannot be loaded.
Result<std::unique_ptr<Simulator>> make_systemc(const isa::HardwareConfig& config, const EngineOptions& options);

}  // namespace dovetail::simulator

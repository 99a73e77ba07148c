// The engine `systemc` is its own shared object, so that nothing else needs SystemC: built where SystemC is
// installed, and loaded when it is asked for.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "isa/config.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// In lib/dovetail of the kit (base/kit_folder.h).
std::optional<std::filesystem::path> find_systemc_engine();

// Why there is none, and which command brings it.
Diagnostic no_systemc_engine();

// Same values, cycles and diagnostics as make_cycle(). Simulations of one process run one at a time. Precondition:
// validate(config). Error: the shared object is missing or cannot be loaded.
Result<std::unique_ptr<Simulator>> make_systemc(const isa::HardwareConfig& config, const EngineOptions& options);

}  // namespace dovetail::simulator

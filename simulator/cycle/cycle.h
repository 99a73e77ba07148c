// The cycle-accurate simulator: the exact issue, start and end cycle of every instruction, with or without values.
// docs/reference/timing.md is its contract, docs/explanation/cycle-simulator.md describes its implementation and
// measurements.
#pragma once

#include <memory>

#include "isa/config.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// Values and time together: DRAM and diagnostics are those of the functional simulator, Simulator::timing() returns the
// times. Precondition: validate(config).
std::unique_ptr<Simulator> make_cycle(const isa::HardwareConfig& config, const EngineOptions& options = {});

// Time alone: DRAM is only read, for instructions' micro-ops. Reports illegal instructions, accesses outside the image
// and deadlock, but not errors that only values show (undefined reads, indices out of range).
std::unique_ptr<Simulator> make_cycle_timing(const isa::HardwareConfig& config, const EngineOptions& options = {});

}  // namespace dovetail::simulator

// The cycle-accurate simulator: the exact issue, start and end cycle of every instruction, with the values or without.
// docs/reference/timing.md is its contract, docs/explanation/cycle-simulator.md describes how it works and what was
// measured.
#pragma once

#include <memory>

#include "isa/config.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// Values and time together: DRAM and diagnostics as the functional simulator has them, Simulator::timing() holds the
// times. Precondition: validate(config).
std::unique_ptr<Simulator> make_cycle(const isa::HardwareConfig& config, const EngineOptions& options = {});

// Time alone: DRAM is only read, for instructions' micro-ops. Reports what is illegal, out of the image or comes to a
// standstill; not what only the values show (undefined reads, indices out of range).
std::unique_ptr<Simulator> make_cycle_timing(const isa::HardwareConfig& config, const EngineOptions& options = {});

}  // namespace dovetail::simulator

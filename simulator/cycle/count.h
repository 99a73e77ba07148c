// The contribution of an instruction to the counters that follows from its fields and micro-ops: instructions, bytes
// and steps. Accesses, traffic and DRAM commands are not included.
#pragma once

#include <span>

#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/functional/routes.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// `uops`: the micro-op memory; empty if unknown: then every step of WINDOW is counted as one with products.
void count(const isa::HardwareConfig& config, const isa::Instruction& instruction, const Route& route,
           std::span<const isa::Uop> uops, Counters& counters);

}  // namespace dovetail::simulator

// The contribution of an instruction to the counters that follows from its fields alone: instructions, bytes and steps.
// Accesses, traffic and DRAM commands are not included.
#pragma once

#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/functional/routes.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

void count(const isa::HardwareConfig& config, const isa::Instruction& instruction, const Route& route,
           Counters& counters);

}  // namespace dovetail::simulator

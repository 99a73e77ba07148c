// What a program does, counted from its fields alone: for engines that execute it without looking.
#pragma once

#include <span>

#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// Precondition: the instructions are legal by isa/legal.h, and run to completion.
Counters count(const isa::HardwareConfig& config, std::span<const isa::Instruction> program);

}  // namespace dovetail::simulator

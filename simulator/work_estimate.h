// The cost of simulating a program, computed from its instructions' fields alone: there is no branch in it, so the
// number of steps is exact. An instruction has as many steps as its loops run micro-ops, or as it moves elements, and
// at least one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/work.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::simulator {

std::uint64_t steps_of(const isa::Instruction& instruction);

// `engine`: the simulator's name. The seconds are those of one core of a current machine, accurate within a factor of a
// few.
WorkEstimate estimate_work(std::string_view engine, const isa::HardwareConfig& config,
                           std::span<const isa::Instruction> program);

}  // namespace dovetail::simulator

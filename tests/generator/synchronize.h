// Adds tokens to a program that was written without them: hand-written cases run in program order on the functional
// simulator, and need tokens to run on every engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::test {

// Returns the instructions in their order, with tokens, and NOPs where tokens need them, such that every engine gives
// the result of program order. Micro-ops are those of the image. Preconditions: the program is legal except for its
// tokens, and no instruction has a flag.
std::vector<isa::Instruction> synchronized(const isa::HardwareConfig& config, std::span<const isa::Instruction> program,
                                           std::uint64_t dram_base, std::span<const std::byte> dram);

}  // namespace dovetail::test

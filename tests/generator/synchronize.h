// Tokens for a program that was written without: hand-written cases run in program order on the functional simulator,
// and need an order that holds on every engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::test {

// The instructions in their order, with tokens, and NOPs where those need some, such that every engine does what
// program order does. Micro-ops are those of the image. Preconditions: the program is legal but for the tokens, and no
// instruction has a flag.
std::vector<isa::Instruction> synchronized(const isa::HardwareConfig& config, std::span<const isa::Instruction> program,
                                           std::uint64_t dram_base, std::span<const std::byte> dram);

}  // namespace dovetail::test

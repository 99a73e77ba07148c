// Programs of the extension `offset`, whose addresses depend on the register OFFSET.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::isa {

// The program that does at OFFSET 0 what `program` does at `offset`: the sum in the dram_base of each transfer, and no
// bit `offset`; NOPs are as they were. Precondition: check_offset(config, offset).
std::vector<Instruction> at_offset(const HardwareConfig& config, std::span<const Instruction> program,
                                   std::uint64_t offset);

// A value that the register can have: below 2^address_bits, and 0 in a design without the register.
Result<void> check_offset(const HardwareConfig& config, std::uint64_t offset);

}  // namespace dovetail::isa

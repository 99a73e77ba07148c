// The errors that every engine reports for a launch that never ends, or that leaves tokens in FIFOs.
#pragma once

#include <cstddef>
#include <span>

#include "base/diagnostic.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::simulator {

// For a launch whose first instruction has the number `first_index`; computed by isa/verify from the instructions
// alone. Empty: the launch ends, and leaves no tokens.
Diagnostics token_errors(const isa::HardwareConfig& config, std::span<const isa::Instruction> launch,
                         std::size_t first_index);

}  // namespace dovetail::simulator

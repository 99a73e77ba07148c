// What every engine reports of a launch that never ends, or that leaves tokens behind.
#pragma once

#include <cstddef>
#include <span>

#include "base/diagnostic.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::simulator {

// Of a launch whose first instruction has the number `first_index`; the verdict is isa/verify's, from the instructions
// alone. Empty: it ends, and leaves none.
Diagnostics token_errors(const isa::HardwareConfig& config, std::span<const isa::Instruction> launch,
                         std::size_t first_index);

}  // namespace dovetail::simulator

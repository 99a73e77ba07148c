// Programs whose memory is placed elsewhere.
#pragma once

#include <cstdint>

#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::isa {

// Adds `distance` bytes to the address of a transfer that moves data; it wraps, so that a distance may be negative.
// Precondition: a multiple of the element's bytes.
void move_address(const HardwareConfig& config, Instruction& instruction, std::uint64_t distance);

}  // namespace dovetail::isa

// Starts the first products of a region early: their loads are not hidden by other work, so they begin with the
// operands that are loaded first.
#pragma once

#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

// Cuts the first products of a stream in parts, and the loads before them in pieces, in the order in which the parts
// read them, so that a part waits only for its operands. No effect if the estimated end of the products is not earlier.
// Precondition: micro-ops are not placed yet.
void start_early(Stream& stream, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

// The order of loads over a whole region. The load queue runs in order: a load that waits, for a store or for its
// place, holds up those after it. Where it would, loads from further on whose places are free take the time: weights
// of the layers after, mostly.
#pragma once

#include <cstdint>

#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

// Moves loads to the front in a serially correct stream without tokens, which stays so: none passes an instruction that
// touches what it touches, one of the two writing. How many were moved.
std::size_t order_loads(Stream& stream, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

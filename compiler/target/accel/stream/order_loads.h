// Orders the loads of a whole region. The load queue runs in order: a load that waits for a store or for its place
// delays all later loads. In that time later loads with free places are executed: mostly weights of later layers.
#pragma once

#include <cstdint>

#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

// Moves loads ahead in a serially correct stream without tokens, which stays serially correct: no load passes an
// instruction that it conflicts with. Returns the number of moved loads.
std::size_t order_loads(Stream& stream, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

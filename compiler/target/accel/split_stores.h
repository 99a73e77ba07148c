// Stores before a border: what the next operation loads first leaves first.
#pragma once

#include <cstdint>

#include "compiler/target/accel/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

// Cuts stores whose first part is loaded while the compute queue would wait for the whole, in a stream without tokens,
// which stays serially correct. How many pieces more there are.
std::size_t split_stores(Stream& stream, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

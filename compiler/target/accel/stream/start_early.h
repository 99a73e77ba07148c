// The first products of a region, which nothing hides the loads of: they start with what is there.
#pragma once

#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

// Cuts the products that a stream begins with in parts, and the loads before them in pieces, each piece in the order in
// which the parts read it: a part waits for no more than it reads. Nothing where the products would not be through
// earlier, as estimated. Precondition: micro-ops are not placed yet.
void start_early(Stream& stream, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

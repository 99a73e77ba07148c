// Two layers side by side: where tiles of one wait for memory, tiles of the other come between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

// What the compute queue takes for a stream, as estimated, where loads at its beginning come under what is before it.
std::uint64_t estimated_cycles(const Stream& stream, const isa::HardwareConfig& config);

// What two layers take one after the other and side by side if no queue ever waits for another one.
struct LeastCycles {
  std::uint64_t apart, together;
};
LeastCycles least_cycles(const Stream& first, const Stream& second, const isa::HardwareConfig& config);

struct Interleaved {
  std::vector<std::size_t> order;  // positions in the stream
  std::uint64_t cycles;            // as estimated_cycles() has it
};
// The instructions of two layers, of which the second begins at `border` of a serially correct stream without tokens,
// in the order that takes least as estimated: each layer's in their own order, and none of the second layer passes one
// of the first that touches what it touches, one of the two writing.
Interleaved interleave(const Stream& stream, std::size_t border, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

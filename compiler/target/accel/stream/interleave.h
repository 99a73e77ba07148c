// Interleaves two layers: where tiles of one layer wait for memory, tiles of the other are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"

namespace dovetail::accel {

// The estimated cycles of the compute queue for a stream, if its first loads overlap with the stream before it.
std::uint64_t estimated_cycles(const Stream& stream, const isa::HardwareConfig& config);

// The cycles of two layers in sequence and interleaved, if no queue ever waits for another one.
struct LeastCycles {
  std::uint64_t apart, together;
};
LeastCycles least_cycles(const Stream& first, const Stream& second, const isa::HardwareConfig& config);

struct Interleaved {
  std::vector<std::size_t> order;  // positions in the stream
  std::uint64_t cycles;            // as in estimated_cycles()
};
// Orders the instructions of two layers so that their estimated time is least. The second layer begins at `border` of a
// serially correct stream without tokens. The instructions of each layer keep their order, and an instruction of the
// second layer does not pass one of the first that it conflicts with.
Interleaved interleave(const Stream& stream, std::size_t border, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

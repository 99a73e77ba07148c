// The loops of a leaf as instructions have them.
#pragma once

#include <cstdint>
#include <vector>

namespace dovetail::accel {

// A loop of the emitted instructions: its extent, and the step of each operand.
struct Axis {
  std::int64_t extent;
  std::vector<std::int64_t> steps;             // compute: dst, src, wgt, and of WINDOW the tap; transfer: on chip, DRAM
  std::int64_t pad_before = 0, pad_after = 0;  // transfers: part of the extent that is zero
};

}  // namespace dovetail::accel

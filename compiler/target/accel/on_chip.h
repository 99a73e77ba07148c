// On-chip buffers of a scheduled program: which part of each is alive at a time, and where it lies in its SRAM.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"
#include "loops/simplify.h"

namespace dovetail::accel {

// The last two dimensions of a buffer are one element of its memory. Element index of an access = base + sum over the
// other dimensions of (index - min) * stride; min is affine in loop variables.
struct Placement {
  isa::Memory memory = isa::Memory::inp;
  std::int64_t base = 0;
  std::vector<loops::Affine> min;
  std::vector<std::int64_t> strides;
  std::int64_t elements = 0;
  bool in_place = false;  // it lies where an operand lies that is not needed any more
};

// A place for every allocation of the program, from address 0 of each memory on, whether it fits or not; results of
// in-place intrinsics lie where their operand lies.
std::map<const loops::BufferNode*, Placement> find_places(const loops::Program& program,
                                                          const loops::IntrinsicTable& intrinsics,
                                                          const isa::HardwareConfig& config);

// The same. Errors: an SRAM overflows.
Result<std::map<const loops::BufferNode*, Placement>> place_buffers(const loops::Program& program,
                                                                    const loops::IntrinsicTable& intrinsics,
                                                                    const isa::HardwareConfig& config);

}  // namespace dovetail::accel

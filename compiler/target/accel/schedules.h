// Default schedules of the accelerator's programs: functions that write a trace. Tiles are sized to the SRAMs of the
// configuration by a bound on DRAM traffic; a tuner may later replace the choice, not the steps.
#pragma once

#include "base/result.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/accel/programs.h"

namespace dovetail::accel {

// Tile extents: n in batch blocks, o and c in channel blocks (TensorLayout::block), y and x in output pixels.
struct Tile {
  std::int64_t n = 1, o = 1, y = 1, x = 1, c = 1;
};

// Errors: no tile fits the buffers; the diagnostic names the smallest tile's needs and the parameter to raise.
Result<schedule::Schedule> schedule_conv(const ConvSpec& spec, const isa::HardwareConfig& config,
                                         const loops::IntrinsicTable& intrinsics);
Result<schedule::Schedule> schedule_add(const AddSpec& spec, const isa::HardwareConfig& config,
                                        const loops::IntrinsicTable& intrinsics);
Result<schedule::Schedule> schedule_max_pool(const MaxPoolSpec& spec, const isa::HardwareConfig& config,
                                             const loops::IntrinsicTable& intrinsics);

}  // namespace dovetail::accel

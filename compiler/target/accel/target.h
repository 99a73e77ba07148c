// The accelerator as a target: the table of select.h, regions of region.h, packed tensors at their borders.
#pragma once

#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::accel {

// `clock_mhz` turns cycles into the seconds of estimates.
TargetPointer make_target(const isa::HardwareConfig& hardware, double clock_mhz);

}  // namespace dovetail::accel

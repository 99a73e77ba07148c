// The accelerator as a target: the table of select.h, regions of region.h, packed tensors at their borders.
#pragma once

#include <memory>

#include "compiler/target/accel/memo.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::accel {

// `clock_mhz` turns cycles into the seconds of estimates. `memo`: what compilations for other hardware share with this
// one; null: nothing. The code is the same.
TargetPointer make_target(const isa::HardwareConfig& hardware, double clock_mhz, std::shared_ptr<Memo> memo = nullptr);

}  // namespace dovetail::accel

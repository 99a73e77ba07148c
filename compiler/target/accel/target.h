// The accelerator as a target: the table of select.h, regions of region.h, packed tensors at their borders.
#pragma once

#include <memory>

#include "compiler/schedule/step_memo.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::accel {

// `clock_mhz` turns cycles into the seconds of estimates. `memo`: where schedules keep what their steps make, for
// compilations for other hardware too; null: nowhere. The code is the same.
TargetPointer make_target(const isa::HardwareConfig& hardware, double clock_mhz,
                          std::shared_ptr<schedule::StepMemo> memo = nullptr);

}  // namespace dovetail::accel

// The accelerator as a target: the table of select.h, regions of region.h, packed tensors at their borders.
#pragma once

#include <memory>

#include "base/memo.h"
#include "compiler/target/accel/counting.h"
#include "compiler/target/accel/division.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::accel {

// `clock_mhz` turns cycles into the seconds of estimates. `memo`: shared with compilations for other
// hardware; null: not shared. The code does not depend on it. `counting`: counts the cycles of schedules; off by
// default. `division`: several accelerators that run one program together.
TargetPointer make_target(const isa::HardwareConfig& hardware, double clock_mhz, std::shared_ptr<Memo> memo = nullptr,
                          Counting counting = {}, const Division& division = {});

}  // namespace dovetail::accel

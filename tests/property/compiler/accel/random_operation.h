// Random operations of the accelerator: convolutions, additions and poolings of a few blocks.
#pragma once

#include "base/random.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "isa/config.h"
#include "loops/ir.h"

namespace dovetail::accel {

struct RandomOperation {
  const Kind* kind;
  loops::Program program;
};
RandomOperation random_operation(SplitMix64& random, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

// oneDNN on the CPU: float32 products, convolutions, pools, sums and concatenations as operations of a library that the
// runtime opens where it is there. docs/explanation/partition.md says how a user asks for it.
#pragma once

#include "compiler/target/target.h"

namespace dovetail::onednn {

TargetPointer make_target();

}  // namespace dovetail::onednn

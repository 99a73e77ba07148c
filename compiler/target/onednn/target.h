// oneDNN on the CPU: float32 products, convolutions, pools, sums and concatenations as operations of a library that the
// runtime loads if it is installed. docs/explanation/partition.md explains how to select it.
#pragma once

#include "compiler/target/target.h"

namespace dovetail::onednn {

TargetPointer make_target();

}  // namespace dovetail::onednn

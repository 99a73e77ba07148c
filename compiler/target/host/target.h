// The loop-program interpreter as a target: every operator, each node by itself, slowly. What nothing else takes ends
// here.
#pragma once

#include "compiler/target/target.h"

namespace dovetail::host {

TargetPointer make_target();

}  // namespace dovetail::host

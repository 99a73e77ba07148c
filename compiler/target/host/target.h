// The loop-program interpreter as a target: every operator, each node separately, slowly. The fallback for nodes that
// no other target accepts.
#pragma once

#include "compiler/target/target.h"

namespace dovetail::host {

TargetPointer make_target();

}  // namespace dovetail::host

// The CPU without machine code, for programs that leave the kit: fused kernels whose loops suit one scalar core with a
// few registers. They are loop programs on the host, which the interpreter runs and `dovetail export` prints as C.
#pragma once

#include "compiler/target/target.h"

namespace dovetail::portable {

// Its name is that of target cpu, which it replaces.
TargetPointer make_target();

}  // namespace dovetail::portable

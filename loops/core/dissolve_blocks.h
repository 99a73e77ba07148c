// From loop programs to the core form.
#pragma once

#include "loops/core/core.h"
#include "loops/intrinsic.h"

namespace dovetail::loops {

// Precondition: the program verifies with these intrinsics.
CoreProgram dissolve_blocks(const Program& program, const IntrinsicTable& intrinsics);

}  // namespace dovetail::loops

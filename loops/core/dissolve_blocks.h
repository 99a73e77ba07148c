// Lowers loop programs to the core form.
#pragma once

#include "loops/core/core.h"
#include "loops/intrinsic.h"

namespace dovetail::loops {

enum class CallForm : std::uint8_t {
  dissolved,  // calls of intrinsics become their semantics
  kept,       // intrinsic calls stay calls
};
// Precondition: the program verifies with these intrinsics.
CoreProgram dissolve_blocks(const Program& program, const IntrinsicTable& intrinsics,
                            CallForm calls = CallForm::dissolved);

}  // namespace dovetail::loops

// Buffers shrunk to what is alive at a time. A buffer that is filled and read within one iteration of a loop needs room
// for that iteration only: compute_at leaves such buffers at their full shape, as a schedule speaks of the elements of
// the whole tensor.
#pragma once

#include "loops/core/core.h"

namespace dovetail::loops {

// Only temporary buffers change. A buffer is shrunk over the innermost loops around all its uses for which every
// element that one iteration reads lies in the box that the same iteration writes.
CoreProgram compact_buffers(CoreProgram core);

}  // namespace dovetail::loops

// Determines which buffers need their elements tracked at run time, because a read before the first write cannot be
// ruled out statically.
#pragma once

#include <set>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

// Candidates are temporaries and outputs; an output is also in the result if some element may never be written.
std::set<const BufferNode*> buffers_to_track(const CoreProgram& core, const std::vector<Buffer>& outputs);

}  // namespace dovetail::loops

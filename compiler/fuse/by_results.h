// A node with very many results (Split) has as many statements. As one kernel, scheduling it would take time
// proportional to the square of their number, since each step examines the whole program.
#pragma once

#include <vector>

#include "compiler/fuse/fuse.h"

namespace dovetail {

// One kernel for every 64 results; the kernel itself if it has fewer, or its results depend on each other. `unfused` is
// left empty.
std::vector<FusedGroup> by_results(FusedGroup whole);

}  // namespace dovetail

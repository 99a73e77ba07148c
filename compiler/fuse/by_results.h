// A node with very many results (Split) has as many statements. In one kernel the schedules, each step of which
// examines the whole program, would take time proportional to the square of their number.
#pragma once

#include <vector>

#include "compiler/fuse/fuse.h"

namespace dovetail {

// One kernel for every 64 results; the kernel itself if it has fewer, or its results depend on each other. `unfused` is
// left empty.
std::vector<FusedGroup> by_results(FusedGroup whole);

}  // namespace dovetail

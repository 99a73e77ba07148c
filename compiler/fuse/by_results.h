// A node of very many results (Split) is as many statements. As one kernel their schedules, each of which looks at the
// whole program, would cost the square of their number.
#pragma once

#include <vector>

#include "compiler/fuse/fuse.h"

namespace dovetail {

// One kernel for every 64 results; the kernel itself where it has fewer, or its results need each other. `unfused` is
// left empty.
std::vector<FusedGroup> by_results(FusedGroup whole);

}  // namespace dovetail

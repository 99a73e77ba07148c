// What the heap of `dovetail` (cli/allocation.cpp) has refused.
#pragma once

namespace dovetail::cli {

// Memory, to this thread, since the process began.
bool heap_has_refused();

}  // namespace dovetail::cli

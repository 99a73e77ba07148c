// Regions: parts of a kernel that each thread runs without synchronization. Barriers are between them.
#pragma once

#include <functional>
#include <vector>

#include "loops/core/core.h"
#include "loops/threads/accesses.h"

namespace dovetail::loops {

struct ThreadRegion {
  Core body;                         // contains no thread loop
  std::vector<AroundThread> around;  // enclosing thread loops, outermost first
  bool repeated = false;             // a loop that all threads run together encloses it
};
std::vector<ThreadRegion> thread_regions_of(const Core& kernel);

}  // namespace dovetail::loops

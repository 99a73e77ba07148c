// Regions: parts of a kernel that each thread runs on its own, from begin to end. Barriers lie between them.
#pragma once

#include <functional>
#include <vector>

#include "loops/core/core.h"
#include "loops/threads/accesses.h"

namespace dovetail::loops {

struct ThreadRegion {
  Core body;                         // holds no thread loop
  std::vector<AroundThread> around;  // thread loops around it, outermost first
  bool repeated = false;             // a loop that all threads run together lies around it
};
std::vector<ThreadRegion> thread_regions_of(const Core& kernel);

}  // namespace dovetail::loops

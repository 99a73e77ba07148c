// Schedules of fused groups for one scalar core.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/schedule/step.h"
#include "loops/ir.h"

namespace dovetail::portable {

struct PortableSchedule {
  loops::Program program;
  std::vector<schedule::Step> trace;
  std::string kind;                            // "dot", "lanes", "elementwise", "none"
  std::map<std::string, std::string> layouts;  // index maps of constant parameters
};

// `constants`: names of parameters whose layout may change. Integer sums are computed in any order, float sums in the
// order of the operator's definition, so that every bit stays.
PortableSchedule schedule_portable(const loops::Program& program, const std::set<std::string>& constants);

}  // namespace dovetail::portable

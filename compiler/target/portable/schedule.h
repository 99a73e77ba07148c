// Schedules of fused groups for one scalar core.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/step.h"
#include "loops/ir.h"

namespace dovetail::portable {

struct PortableSchedule {
  loops::Program program;
  std::vector<schedule::Step> trace;
  std::string kind;  // "reduction": sums in registers, or "elementwise"
};

// Integer sums in any order; float sums in the order of the operator's definition, so that every bit stays.
PortableSchedule schedule_portable(const loops::Program& program);

}  // namespace dovetail::portable

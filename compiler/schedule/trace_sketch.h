// The sketch of a schedule that a user wrote: its sample steps are the choices, the other steps are applied as they
// are.
#pragma once

#include <vector>

#include "compiler/schedule/sketch.h"
#include "compiler/schedule/step.h"

namespace dovetail::schedule {

// The default is the value that a sample step has, if its space has it, which may depend on earlier values; otherwise
// the first of its space.
Sketch sketch_of(std::vector<Step> trace);

}  // namespace dovetail::schedule

// Chooses the schedules of a region by counting the cycles of the candidates that have the best analytic cost.
#pragma once

#include "base/result.h"
#include "compiler/target/accel/counting.h"
#include "compiler/target/accel/region.h"

namespace dovetail::accel {

// The same as build_region, but with schedules that make the region faster than the defaults, never slower. The cycles
// of a task alone say little about the region, whose operations overlap. So if a candidate, run twice in sequence, is
// faster than the default, the region is built with it, and the cycles of the region decide. Recorded and decided
// schedules
// (`recorded`) are not changed. Origins state what was counted. Deterministic if `counting.count` is.
// With one candidate for each task only records are checked: if the region is slower with all of them, it uses only
// those that make it faster. Errors: also those of `counting.count`.
Result<RegionCode> build_counted_region(const graph::Graph& graph, const RegionSpec& spec,
                                        const isa::HardwareConfig& config, const schedule::FindRecorded& recorded,
                                        const Counting& counting, DeviceSpace& space, const Dump& dump);

}  // namespace dovetail::accel

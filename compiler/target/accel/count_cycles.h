// Schedules of a region by the cycles that they take, counted among those that the analytic cost thinks best.
#pragma once

#include "base/result.h"
#include "compiler/target/accel/counting.h"
#include "compiler/target/accel/region.h"

namespace dovetail::accel {

// The same as build_region, with schedules that make the region faster, never slower, than those by default. A task
// alone says little of the region, whose operations overlap: where one of its candidates is faster than the default,
// run twice by itself, the region is built with it, and the fewer cycles of the region decide. What is recorded or
// decided (`recorded`) stays as it is. Origins say what was counted. Deterministic where `counting.count` is.
// With one candidate for each task nothing but records is judged: where the region is slower with all of them, it has
// those that make it faster.
// Errors: also those of `counting.count`.
Result<RegionCode> build_counted_region(const graph::Graph& graph, const RegionSpec& spec,
                                        const isa::HardwareConfig& config, const schedule::FindRecorded& recorded,
                                        const Counting& counting, DeviceSpace& space, const Dump& dump);

}  // namespace dovetail::accel

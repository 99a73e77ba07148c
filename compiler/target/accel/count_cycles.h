// Schedules of a region, chosen by counted cycles among those that the analytic cost ranks best.
#pragma once

#include "base/report_progress.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/recorded.h"
#include "compiler/target/accel/counting.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/region_schedules.h"
#include "compiler/target/target.h"

namespace dovetail::accel {

// The same as schedule_region, with schedules that make the region faster than the default ones, never slower. The
// cycles of one task alone say little about the region, where operations overlap. So a candidate that is faster than
// the default, when the task runs twice alone, is tried in the whole region, and the region's cycles decide. Recorded
// and decided schedules (`recorded`) stay as they are. Origins state what was counted. Deterministic where
// `counting.count` is.
// With one candidate for each task, only records are judged: if the region is slower with all of them, it takes those
// that make it faster.
// The region is counted in its own memory, from kMemoryBase. Errors: also those of `counting.count`.
Result<RegionSchedules> counted_schedules(const graph::Graph& graph, const RegionSpec& spec, const GraphRegion& region,
                                          const schedule::FindRecorded& recorded, const Counting& counting,
                                          const ReportProgress& progress);

// The cycles of the region with these schedules, in its own memory.
Result<std::uint64_t> counted_cycles(const graph::Graph& graph, const RegionSpec& spec, const GraphRegion& region,
                                     const RegionSchedules& schedules, const CountCycles& count);

}  // namespace dovetail::accel

// The code of a region, whose operations run as one accelerator step: plans the memory, lowers the scheduled programs,
// places micro-ops and tokens, and proves the result with isa/verify.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/report_progress.h"
#include "base/result.h"
#include "bundle/code/accel.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/region_schedules.h"
#include "compiler/target/accel/stream/stream_report.h"
#include "compiler/target/target.h"

namespace dovetail::accel {

// Where a region is stored.
struct RegionMemory {
  const std::map<graph::ValueId, std::uint64_t>& addresses;  // of the values that cross the region's border
  DeviceSpace& space;                                        // gives all other addresses
  std::uint64_t end = 0;  // result: the region's last address, if the configuration cannot reach it
};
struct RegionCode {
  bundle::AccelCode code;
  StreamStatistics statistics;
};
// The code of the region's step, except the addresses of its arguments and results, whose order the caller defines.
// Takes from the space: values that do not cross the border (values that are not live at the same time share memory),
// constants, micro-ops and the program. The code is not verified yet (prove). `progress` may be null.
Result<RegionCode> build_region(const graph::Graph& graph, const RegionSpec& spec, const RegionSchedules& schedules,
                                RegionMemory& memory, const ReportProgress& progress, const Dump& dump);
// Runs isa/verify. Precondition: build_region made `code` in `space`; any finding is a defect of the compiler.
void prove(const bundle::AccelCode& code, const std::string& name, const DeviceSpace& space);

}  // namespace dovetail::accel

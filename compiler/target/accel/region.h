// A region: operations that run as one accelerator step. Says how its tensors lie, schedules and lowers each operation,
// plans the memory, places micro-ops and tokens, and proves the result with isa/verify.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/code/accel.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/select.h"
#include "compiler/target/accel/stream_report.h"
#include "compiler/target/target.h"

namespace dovetail::accel {

// How the values that the operations read and write lie, borders included.
// Error: a value whose readers need borders of different values.
Result<std::map<graph::ValueId, TensorLayout>> region_layouts(const graph::Graph& graph,
                                                              const std::vector<Operation>& operations,
                                                              const isa::HardwareConfig& config);

// What a region is made of and where.
struct RegionSpec {
  std::string name;
  const std::vector<Operation>& operations;                  // in execution order
  const std::vector<std::uint64_t>& macs;                    // of each: Cost::macs
  const std::map<graph::ValueId, TensorLayout>& layouts;     // region_layouts of them
  const std::map<graph::ValueId, std::uint64_t>& addresses;  // of the values that cross the region's border
  ReportProgress progress = nullptr;                         // null: nobody watches
};
struct RegionCode {
  bundle::AccelCode code;
  std::vector<ScheduleReport> schedules;  // where records were looked for
  StreamStatistics statistics;
};
// The code of the step, but for the addresses of its arguments and results, whose order the caller knows. Takes from
// `space` what else it needs: values that do not cross the border (those that do not live at the same time share
// memory), constants, micro-ops and the program.
Result<RegionCode> build_region(const graph::Graph& graph, const RegionSpec& spec, const isa::HardwareConfig& config,
                                const schedule::FindRecorded& recorded, DeviceSpace& space, const Dump& dump);

}  // namespace dovetail::accel

// A region: operations that run as one accelerator step. Chooses the layouts of its tensors, schedules and lowers each
// operation, plans the memory, places micro-ops and tokens, and verifies the result with isa/verify.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/memo.h"
#include "base/result.h"
#include "bundle/code/accel.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/select/select.h"
#include "compiler/target/accel/stream/stream_report.h"
#include "compiler/target/accel/task_schedules.h"
#include "compiler/target/target.h"

namespace dovetail::accel {

// A value that is stored within another one, beginning at a block of its channels: values that are concatenated or cut
// out at borders of blocks are not copied.
struct View {
  graph::ValueId base;
  std::int64_t block;
  bool operator==(const View&) const = default;
};
// The layouts of the values that the operations read and write, with their borders.
struct RegionLayouts {
  std::map<graph::ValueId, TensorLayout> layouts;
  std::map<graph::ValueId, View> views;
};
// `crossing`: values that other steps read or write, which are never within others. Error: the readers of a value need
// borders with different values.
Result<RegionLayouts> region_layouts(const graph::Graph& graph, const std::vector<Operation>& operations,
                                     const std::set<graph::ValueId>& crossing, const isa::HardwareConfig& config);

// If a part of a move copies a whole value into another one, or a whole value out of another one: this value and its
// view; else nullopt.
std::optional<std::pair<graph::ValueId, View>> view_of(const Operation& operation, const MoveSpec& part,
                                                       const std::map<graph::ValueId, TensorLayout>& layouts);

// The operations of a region, with their layouts and addresses.
struct RegionSpec {
  std::string name;
  const std::vector<Operation>& operations;                  // in execution order
  const std::vector<std::uint64_t>& macs;                    // Cost::macs of each operation
  const RegionLayouts& layouts;                              // region_layouts() of the operations
  const std::map<graph::ValueId, std::uint64_t>& addresses;  // addresses of the values that cross the region's border
  ReportProgress progress = nullptr;                         // null: not reported
  std::shared_ptr<Memo> memo;                                // results that layers and other hardware share
  const TaskSchedules* schedules = nullptr;                  // schedules to use for their tasks; null: none
  std::uint64_t* memory_end = nullptr;                       // gets the end of the memory, if it does not fit
};
struct RegionCode {
  bundle::AccelCode code;
  TaskSchedules schedules;
  std::vector<TaskUse> uses;  // in execution order
  StreamStatistics statistics;
};
// The code of the step, without the addresses of its arguments and results, whose order the caller knows. Allocates
// from `space` the rest: values that do not cross the border (those with disjoint live ranges share memory), constants,
// micro-ops and the program. The code is not verified yet.
Result<RegionCode> build_region(const graph::Graph& graph, const RegionSpec& spec, const isa::HardwareConfig& config,
                                const schedule::FindRecorded& recorded, DeviceSpace& space, const Dump& dump);
// Verifies the code with isa/verify. Precondition: build_region made `code` in `space`. Any finding is a defect of the
// compiler.
void prove(const bundle::AccelCode& code, const std::string& name, const DeviceSpace& space);

}  // namespace dovetail::accel

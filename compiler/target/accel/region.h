// A region: operations that run as one accelerator step. Says how its tensors are stored, schedules and lowers each
// operation, plans the memory, places micro-ops and tokens; and proves the result with isa/verify.
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

// A value that is within another one, from that block of its channels on: what is concatenated or cut out at borders
// of blocks is not copied.
struct View {
  graph::ValueId base;
  std::int64_t block;
  bool operator==(const View&) const = default;
};
// How the values that the operations read and write are stored, borders included.
struct RegionLayouts {
  std::map<graph::ValueId, TensorLayout> layouts;
  std::map<graph::ValueId, View> views;
};
// `crossing`: values that others read or write, which are by themselves. Error: a value whose readers need borders of
// different values.
Result<RegionLayouts> region_layouts(const graph::Graph& graph, const std::vector<Operation>& operations,
                                     const std::set<graph::ValueId>& crossing, const isa::HardwareConfig& config);

// The value that a part of what is moved copies as a whole into another one, or as a whole out of one, as a view;
// nullopt where neither is so.
std::optional<std::pair<graph::ValueId, View>> view_of(const Operation& operation, const MoveSpec& part,
                                                       const std::map<graph::ValueId, TensorLayout>& layouts);

// What a region is made of and where.
struct RegionSpec {
  std::string name;
  const std::vector<Operation>& operations;                  // in execution order
  const std::vector<std::uint64_t>& macs;                    // of each: Cost::macs
  const RegionLayouts& layouts;                              // region_layouts of them
  const std::map<graph::ValueId, std::uint64_t>& addresses;  // of the values that cross the region's border
  ReportProgress progress = nullptr;                         // null: nobody watches
  std::shared_ptr<Memo> memo;                                // what the region's layers and other hardware share
  const TaskSchedules* schedules = nullptr;                  // what is there is taken; null: nothing
  std::uint64_t* memory_end = nullptr;                       // where it ends, if it does not fit
};
struct RegionCode {
  bundle::AccelCode code;
  TaskSchedules schedules;
  std::vector<TaskUse> uses;  // in execution order
  StreamStatistics statistics;
};
// The code of the step, but for the addresses of its arguments and results, whose order the caller knows. Takes from
// `space` what else it needs: values that do not cross the border (those that do not live at the same time share
// memory), constants, micro-ops and the program.
// Nobody has proven it.
Result<RegionCode> build_region(const graph::Graph& graph, const RegionSpec& spec, const isa::HardwareConfig& config,
                                const schedule::FindRecorded& recorded, DeviceSpace& space, const Dump& dump);
// By isa/verify. Precondition: `code` is what build_region made in `space`; any finding is a defect of the compiler.
void prove(const bundle::AccelCode& code, const std::string& name, const DeviceSpace& space);

}  // namespace dovetail::accel

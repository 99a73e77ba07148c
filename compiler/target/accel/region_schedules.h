// The programs of a region's operations and their schedules: what stage "schedules" makes of a region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/memo.h"
#include "base/report_progress.h"
#include "base/result.h"
#include "compiler/schedule/recorded.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "compiler/target/accel/divide_region.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/region_layouts.h"
#include "compiler/target/accel/schedule/sketches.h"

namespace dovetail::accel {

struct RegionSpec {
  std::string name;
  const Cores& cores;
  const std::vector<OperationForms>& operations;  // in execution order
  const std::vector<std::uint64_t>& macs;         // of each: Cost::macs
  const RegionLayouts& layouts;                   // region_layouts of them
  const std::vector<Share>& shares;               // divide_region of them
  std::shared_ptr<Memo> memo;                     // shared by layers, and by compilations for other hardware

  const Core& core_of(const Share& share) const { return cores[share.accelerator]; }
  // What the share is a part of.
  const Operation& operation_of(const Share& share) const {
    return *operations[share.operation].by_kind[cores.kind(share.accelerator)];
  }
};

// A task's schedule and its origin.
struct TaskSchedule {
  Kind kind;
  std::size_t core_kind = 0;  // of the accelerators that it is for (Cores)
  schedule::Task task;
  schedule::Scheduled scheduled;
  schedule::Origin origin;
};
using TaskSchedules = std::map<std::string, TaskSchedule>;  // by KeyedTask::text()

// One program of a share; networks repeat their layers, and equal tasks share a schedule.
struct RegionProgram {
  std::size_t share, part;                      // index in RegionSpec::shares, and among the operation's programs
  schedule::Task task;                          // with the program before scheduling
  std::map<std::string, std::uint64_t> shifts;  // SlicedOperation::shifts
  std::string schedule = {};                    // key in RegionSchedules::schedules
};
struct RegionSchedules {
  TaskSchedules schedules;
  std::vector<RegionProgram> programs;  // in execution order
};

// `recorded`: asked once for each task. `known`: schedules to take instead, where it has them; may be null. `progress`
// may be null.
Result<RegionSchedules> schedule_region(const RegionSpec& spec, const schedule::FindRecorded& recorded,
                                        const TaskSchedules* known, const ReportProgress& progress);

}  // namespace dovetail::accel

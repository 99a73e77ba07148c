// The schedules of a region's tasks: networks repeat their layers, and equal tasks have one schedule.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/memo.h"
#include "base/result.h"
#include "compiler/schedule/recorded.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "isa/config.h"

namespace dovetail::accel {

// A task's schedule, and its origin.
struct TaskSchedule {
  Kind kind;
  schedule::Task task;
  schedule::Scheduled scheduled;
  schedule::Origin origin;
};
using TaskSchedules = std::map<std::string, TaskSchedule>;  // by KeyedTask::text()

struct TaskUse {
  std::string name, content;  // name of a program, in execution order; key of its schedule
};

class TaskScheduler {
 public:
  // `recorded`: called once for each content. `known`: schedules to use if present; null: none.
  TaskScheduler(const isa::HardwareConfig& config, std::shared_ptr<Memo> memo, const schedule::FindRecorded& recorded,
                const TaskSchedules* known)
      : config_(config), memo_(std::move(memo)), recorded_(recorded), known_(known) {}

  // Records the use. The returned pointer stays valid, since `schedules` does not move its elements.
  Result<const TaskSchedule*> schedule(const Kind& kind, const schedule::Task& task);

  TaskSchedules schedules;
  std::vector<TaskUse> uses;

 private:
  const isa::HardwareConfig& config_;
  const std::shared_ptr<Memo> memo_;
  const schedule::FindRecorded& recorded_;
  const TaskSchedules* known_;
};

}  // namespace dovetail::accel

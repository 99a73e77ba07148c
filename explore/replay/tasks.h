// Built-in tasks, for `dovetail tune --task NAME` and to compare searches: layers of ResNet-18, ResNet-8, MobileNetV2
// and a transformer, six for each target. The CPU's tasks have small images and short sequences (64 pixels, 112 for
// MobileNetV2, 64 positions), so that thousands of their schedules can be timed in minutes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "compiler/target/target.h"

namespace dovetail::explore {

inline constexpr std::string_view kReplayHardware = "1x16x16-ext";   // for the accelerator's tasks
inline constexpr std::string_view kReplayProcessor = "avx512-vnni";  // for the CPU's tasks

struct ReplayTask {
  std::string_view name;    // "accel.addition"; also the name of its table
  std::string_view target;  // bundle::kAccelTarget or bundle::kCpuTarget
  std::string_view kind;    // kind of the task; the graph has one task of this kind
  std::string_view graph;   // text for graph::parse, without weights
};
std::span<const ReplayTask> replay_tasks();
// Error: unknown name; the hint lists the names.
Result<const ReplayTask*> find_replay_task(std::string_view name);

struct FoundTask {
  schedule::Task task;
  schedule::Sketch sketch;
  std::vector<TargetPointer> targets;  // the sketch refers to them
};
// Compiles the graph to get the task, like `dovetail tune` for a model: for `target`, or for the machine on which
// searches are compared. Error: the target does not support the task.
Result<FoundTask> find_task(const ReplayTask& row, TargetPointer target);
Result<FoundTask> find_task(const ReplayTask& row);

}  // namespace dovetail::explore

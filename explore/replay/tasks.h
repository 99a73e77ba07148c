// Tasks with names, of no model: `dovetail tune --task NAME`, and what searches are compared on: layers of ResNet-18,
// ResNet-8, MobileNetV2 and a transformer, six for each target. Those of the CPU are of small images and short
// sequences (64 pixels, MobileNetV2's 112, 64 positions): thousands of their schedules are timed in minutes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "compiler/target/target.h"

namespace dovetail::explore {

inline constexpr std::string_view kReplayHardware = "1x16x16-ext";   // of the accelerator's tasks
inline constexpr std::string_view kReplayProcessor = "avx512-vnni";  // of the CPU's

struct ReplayTask {
  std::string_view name;    // "accel.addition"; also of its table
  std::string_view target;  // bundle::kAccelTarget or bundle::kCpuTarget
  std::string_view kind;    // of the task, one of which its graph has
  std::string_view graph;   // as graph::parse takes it, weights left out
};
std::span<const ReplayTask> replay_tasks();
// Error: there is none; it names those that there are.
Result<const ReplayTask*> find_replay_task(std::string_view name);

struct FoundTask {
  schedule::Task task;
  schedule::Sketch sketch;
  std::vector<TargetPointer> targets;  // which the sketch refers to
};
// Compiles the graph, as `dovetail tune` finds a model's tasks: for `target`, or for the machine that searches are
// compared on. Error: it does not take the task.
Result<FoundTask> find_task(const ReplayTask& row, TargetPointer target);
Result<FoundTask> find_task(const ReplayTask& row);

}  // namespace dovetail::explore

#include "compiler/schedule/task.h"

#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "loops/print.h"

namespace dovetail::schedule {

namespace {

// What was done and asked for, in lines.
std::string head_of(const Task& task) {
  std::string text = fmt::format("task {} {}\n", task.target, task.kind);
  for (const std::string& step : task.prepared) text += fmt::format("prepared {}\n", step);
  for (const auto& [parameter, layout] : task.layouts)
    if (!layout.empty()) text += fmt::format("layout {} {}\n", parameter, layout);
  return text;
}

// The task's facts, including its intent if that is not the default.
Json machine_of(const Task& task) {
  Json machine = task.facts;
  if (task.intent.start == Start::alone) machine["start"] = "alone";
  if (task.intent.order == TileOrder::pixels_first) machine["pixels_first"] = true;
  if (task.intent.int4_weights) machine["int4_weights"] = true;
  return machine;
}

}  // namespace

std::string to_string(const Task& task) {
  std::string text = head_of(task) + fmt::format("machine {}\n", machine_of(task).dump());
  for (const loops::Intrinsic& intrinsic : *task.intrinsics)
    text += fmt::format("intrinsic {} {}\n", intrinsic.name, [&] {
      Hash hash;
      hash.add(loops::to_string(intrinsic.semantics));
      return hash.text();
    }());
  return text + loops::to_string(task.program);
}

std::string key(const Task& task) {
  Task unnamed = task;
  unnamed.program.name = "task";
  Hash hash;
  hash.add(to_string(unnamed));
  return hash.text();
}

}  // namespace dovetail::schedule

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

}  // namespace

std::string to_string(const Task& task) {
  std::string text = head_of(task) + fmt::format("machine {}\n", task.facts.dump());
  for (const loops::Intrinsic& intrinsic : *task.intrinsics)
    text += fmt::format("intrinsic {} {}\n", intrinsic.name, [&] {
      Hash hash;
      hash.add(loops::to_string(intrinsic.semantics));
      return hash.text();
    }());
  return text + loops::to_string(task.program);
}

void keep_schedules(Task& task, std::shared_ptr<ScheduleMemo> memo, std::string_view intrinsics) {
  loops::Program unnamed = task.program;
  unnamed.name.clear();
  task.kept_as = head_of(task).append(intrinsics).append(loops::to_string(unnamed));
  task.memo = std::move(memo);
}

std::string key(const Task& task) {
  Task unnamed = task;
  unnamed.program.name = "task";
  Hash hash;
  hash.add(to_string(unnamed));
  return hash.text();
}

}  // namespace dovetail::schedule

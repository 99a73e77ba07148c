#include "compiler/schedule/task.h"

#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "loops/print.h"

namespace dovetail::schedule {

std::string to_string(const Task& task) {
  std::string text = fmt::format("task {} {}\n", task.target, task.kind);
  for (const std::string& step : task.prepared) text += fmt::format("prepared {}\n", step);
  for (const auto& [parameter, layout] : task.layouts)
    if (!layout.empty()) text += fmt::format("layout {} {}\n", parameter, layout);
  text += fmt::format("machine {}\n", task.facts.dump());
  for (const loops::Intrinsic& intrinsic : *task.intrinsics)
    text += fmt::format("intrinsic {} {}\n", intrinsic.name, [&] {
      Hash hash;
      hash.add(loops::to_string(intrinsic.semantics));
      return hash.text();
    }());
  return text + loops::to_string(task.program);
}

void keep_steps(Task& task, std::shared_ptr<StepMemo> memo, std::string_view intrinsics) {
  task.begin = memo->begin(task.program, intrinsics);
  task.memo = std::move(memo);
  task.program = task.begin->program;
}

std::string key(const Task& task) {
  Task unnamed = task;
  unnamed.program.name = "task";
  Hash hash;
  hash.add(to_string(unnamed));
  return hash.text();
}

}  // namespace dovetail::schedule

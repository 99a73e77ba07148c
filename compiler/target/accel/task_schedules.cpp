#include "compiler/target/accel/task_schedules.h"

#include <optional>

#include "compiler/schedule/keyed_task.h"

namespace dovetail::accel {

Result<const TaskSchedule*> TaskScheduler::schedule(const Kind& kind, const schedule::Task& task) {
  std::string content = schedule::KeyedTask(task, *memo_).text();
  auto at = schedules.find(content);
  if (at == schedules.end() && known_ != nullptr)
    if (const auto known = known_->find(content); known != known_->end()) at = schedules.insert(*known).first;
  if (at == schedules.end()) {
    schedule::Origin origin;
    DOVETAIL_ASSIGN(std::optional<schedule::Scheduled> found,
                    schedule::try_run(sketch_of(kind, config_, memo_), task, recorded_, origin));
    at = schedules.emplace(content, TaskSchedule{kind, task, *std::move(found), std::move(origin)}).first;
  }
  uses.push_back({task.program.name, std::move(content)});
  return &at->second;
}

}  // namespace dovetail::accel

#include "compiler/schedule/sketch.h"

#include <fmt/format.h>

#include "compiler/schedule/context.h"
#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

Result<Scheduled> run(const Sketch& sketch, const Task& task, const Decisions& given) {
  DOVETAIL_ASSIGN(std::optional<Scheduled> scheduled, try_run(sketch, task, Deciding{given}));
  if (!scheduled)
    return refuse("schedule", task.program.name, fmt::format("it is no program of kind {}", sketch.kind),
                  "try another kind");
  return *std::move(scheduled);
}

Result<std::optional<Scheduled>> try_run(const Sketch& sketch, const Task& task, Deciding deciding) {
  Context context(task, std::move(deciding));
  if (!sketch.write(context)) return std::optional<Scheduled>();
  DOVETAIL_ASSIGN(Scheduled scheduled, context.finish());
  return std::optional(std::move(scheduled));
}

Result<loops::Program> replay(const Task& task, std::span<const Step> trace) {
  Schedule schedule(task.program, *task.intrinsics);
  DOVETAIL_TRY(schedule.replay(trace));
  return schedule.program();
}

}  // namespace dovetail::schedule

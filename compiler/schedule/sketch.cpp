#include "compiler/schedule/sketch.h"

#include <fmt/format.h>

#include "compiler/schedule/context.h"
#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

Result<Scheduled> run(const Sketch& sketch, const Task& task, const Decisions& given) {
  Context context(task, given);
  if (!sketch.write(context))
    return refuse("schedule", task.program.name, fmt::format("it is no program of kind {}", sketch.kind),
                  "try another kind");
  return context.finish();
}

Result<loops::Program> replay(const Task& task, std::span<const Step> trace) {
  Schedule schedule(task.program, *task.intrinsics);
  DOVETAIL_TRY(schedule.replay(trace));
  return schedule.program();
}

}  // namespace dovetail::schedule

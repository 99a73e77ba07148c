#include "compiler/schedule/sketch.h"

#include <fmt/format.h>

#include "compiler/schedule/context.h"
#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

namespace {

Diagnostic unknown_program(const Sketch& sketch, const Task& task) {
  return refuse("schedule", task.program.name, fmt::format("the program is not of kind {}", sketch.kind),
                "choose another kind");
}

}  // namespace

Result<Scheduled> run(const Sketch& sketch, const Task& task, const Decisions& given) {
  DOVETAIL_ASSIGN(std::optional<Scheduled> scheduled, try_run(sketch, task, Deciding{given}));
  if (!scheduled) return unknown_program(sketch, task);
  return *std::move(scheduled);
}

Result<std::optional<Scheduled>> try_run(const Sketch& sketch, const Task& task, Deciding deciding) {
  Context context(task, std::move(deciding));
  if (!sketch.write(context)) return std::optional<Scheduled>();
  DOVETAIL_ASSIGN(Scheduled scheduled, context.finish());
  return std::optional(std::move(scheduled));
}

Result<std::vector<Scheduled>> run_best(const Sketch& sketch, const Task& task, std::size_t few,
                                        const Decisions& given) {
  std::vector<Scheduled> best;
  for (std::size_t rank = 0; rank < few; ++rank) {
    auto scheduled = try_run(sketch, task, Deciding{.given = given, .lenient = true, .rank = rank});
    if (scheduled.ok() && *scheduled) best.push_back(**std::move(scheduled));
    else if (rank > 0) break;
    else if (scheduled.ok()) return unknown_program(sketch, task);
    else return scheduled.errors();
  }
  return best;
}

Result<loops::Program> replay(const Task& task, std::span<const Step> trace) {
  Schedule schedule(task.program, *task.intrinsics);
  DOVETAIL_TRY(schedule.replay(trace));
  return schedule.program();
}

}  // namespace dovetail::schedule

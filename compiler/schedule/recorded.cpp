#include "compiler/schedule/recorded.h"

#include "base/diagnostic.h"

namespace dovetail::schedule {

Result<std::optional<Scheduled>> try_run(const Sketch& sketch, const Task& task, const FindRecorded& find,
                                         Origin& origin) {
  origin = {};
  if (find) {
    origin.key = key(task);
    const Recorded recorded = find(task, sketch);
    origin.text = recorded.origin;
    if (recorded.decisions) {
      auto scheduled = try_run(sketch, task, Deciding{*recorded.decisions});
      origin.recorded = scheduled.ok();
      if (scheduled.ok()) return scheduled;
      origin.text = "default: what is recorded is refused, " + scheduled.errors().front().why;
    }
  }
  return try_run(sketch, task, Deciding{});
}

}  // namespace dovetail::schedule

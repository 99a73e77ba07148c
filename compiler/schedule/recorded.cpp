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
      auto scheduled = try_run(sketch, task, Deciding{.given = *recorded.decisions, .lenient = recorded.lenient});
      origin.recorded = scheduled.ok();
      if (scheduled.ok() && *scheduled)
        for (const Decision& made : (*scheduled)->decisions) {
          origin.spaces.emplace(made.name, made.space);
          if (const auto found = recorded.decisions->find(made.name);
              found != recorded.decisions->end() && found->second == made.value)
            origin.taken.insert(made.name);
        }
      if (scheduled.ok()) return scheduled;
      origin.text = "default: the record is refused, " + scheduled.errors().front().why;
    }
  }
  return try_run(sketch, task, Deciding{});
}

}  // namespace dovetail::schedule

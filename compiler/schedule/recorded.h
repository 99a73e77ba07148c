// Schedules by decisions that were found before, and recorded: by a tuner.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"

namespace dovetail::schedule {

struct Recorded {
  std::optional<Decisions> decisions;  // nullopt: nothing is recorded
  std::string origin;                  // in words: "record: 4711 cycles, 0.81 of the default", or why there is none
  bool lenient = false;                // those that the sketch does not take, or not here, are left out (Deciding)
};
// What is recorded for a task; asked once for each schedule that a compiler makes.
using FindRecorded = std::function<Recorded(const Task& task, const Sketch& sketch)>;

// Where a schedule comes from.
struct Origin {
  std::string key;  // of the task; empty where nobody looked for records
  bool recorded = false;
  bool counted = false;              // one of several, by the cycles that they take
  std::string text = "default";      // or Recorded::origin, or why what was recorded is not used
  std::set<std::string> taken = {};  // names of those that were found and taken
};

// The task's schedule: by what `find` has recorded, else, and where the sketch refuses that, the default. `find` may be
// null. nullopt where the sketch does not know the program.
Result<std::optional<Scheduled>> try_run(const Sketch& sketch, const Task& task, const FindRecorded& find,
                                         Origin& origin);

}  // namespace dovetail::schedule

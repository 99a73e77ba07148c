// Schedules from recorded decisions, found by a tuner.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "compiler/schedule/decisions.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"

namespace dovetail::schedule {

struct Recorded {
  std::optional<Decisions> decisions;  // nullopt: no record
  std::string origin;    // a description: "record: 4711 cycles, 0.81 of the default", or why there is none
  bool lenient = false;  // decisions that the sketch does not accept, or not here, are dropped (Deciding)
};
// The record of a task; queried once for each schedule that a compiler makes.
using FindRecorded = std::function<Recorded(const Task& task, const Sketch& sketch)>;

// The origin of a schedule.
struct Origin {
  std::string key;  // of the task; empty if no records were queried
  bool recorded = false;
  bool counted = false;                      // chosen among several by their measured cycles
  std::string text = "default";              // or Recorded::origin, or why the record is not used
  std::set<std::string> taken = {};          // names of the recorded decisions that were used
  std::map<std::string, Space> spaces = {};  // of all decisions, where records were queried
};

// The task's schedule: from the record that `find` returns, or the default if there is no record or the sketch rejects
// it. `find` may be null. nullopt if the sketch does not apply to the program.
Result<std::optional<Scheduled>> try_run(const Sketch& sketch, const Task& task, const FindRecorded& find,
                                         Origin& origin);

}  // namespace dovetail::schedule

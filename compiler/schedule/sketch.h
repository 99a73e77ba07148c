// Sketches: functions that write the schedules of a kind of tasks, with a sample wherever something is chosen. Without
// decisions a sketch takes the analytic choice everywhere, which is the default schedule. To vary a decision is to run
// the sketch again: what follows from it is then decided anew.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/task.h"

namespace dovetail::schedule {

class Context;

struct Sketch {
  std::string_view kind;  // of the tasks that it takes
  int version = 1;        // raised with every change that gives old decisions another meaning
  std::function<bool(Context&)>
      write;  // false: it does not know the program. Refused steps are in the context's schedule
};

using Decisions = std::map<std::string, std::string>;  // by name of the sample

// Who decides where a sketch samples.
struct Deciding {
  Decisions given = {};
  // Whether a given decision is left out where the sketch does not sample it or its space does not hold it, because it
  // was made alongside others; else it is refused.
  bool lenient = false;
  // What is open is drawn: a number below the one that it is called with, all equally likely. Null: the analytic
  // choice.
  std::function<std::size_t(std::size_t)> draw = nullptr;
  // Of the numbers that the sketch decides together first, it takes those with so many cheaper ones, not the cheapest.
  // Refused where fewer fit, and where it decides none together. What is drawn has no rank.
  std::size_t rank = 0;
};

// A task's schedule.
struct Scheduled {
  loops::Program program;
  std::vector<Step> trace;
  std::vector<Decision> decisions;             // what the trace decided
  std::map<std::string, std::string> layouts;  // of parameters, index maps
  std::set<std::string> follows;  // parameters that are stored as the task asked, and might have lain otherwise
};

// Runs the sketch; what `given` leaves open is chosen analytically. Errors: the program is not known, a step is
// refused, a decision that the sketch does not take or that its space does not hold (a record of another version, say).
Result<Scheduled> run(const Sketch& sketch, const Task& task, const Decisions& given = {});
// The same with anyone who decides; nullopt where the sketch does not know the program. Errors also: what was drawn
// fits nothing.
Result<std::optional<Scheduled>> try_run(const Sketch& sketch, const Task& task, Deciding deciding);

// Those that the sketch thinks best by numbers that it decides together first, the default first, at most `few` of
// them, which is 1 or more. What `given` holds and suits is decided so in all of them. Errors: as for run().
Result<std::vector<Scheduled>> run_best(const Sketch& sketch, const Task& task, std::size_t few,
                                        const Decisions& given = {});

// The program that the trace makes of the task, without the sketch.
Result<loops::Program> replay(const Task& task, std::span<const Step> trace);

}  // namespace dovetail::schedule

// Sketches: schedule templates: functions that generate the schedule of a kind of tasks, with a sample step for each
// choice. Without decisions a sketch makes the analytic choice everywhere, which gives the default schedule. A decision
// is varied by running the sketch again: later choices are then decided anew.
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
  std::string_view kind;  // of the tasks that it accepts
  int version = 1;        // incremented with every change that gives old decisions another meaning
  std::function<bool(Context&)>
      write;  // false: it does not know the program. Refused steps are recorded in the context's schedule
};

using Decisions = std::map<std::string, std::string>;  // by name of the sample

// How the samples of a sketch are decided.
struct Deciding {
  Decisions given = {};
  // Whether a given decision is dropped if the sketch does not sample it or its space does not contain it, because it
  // was made together with others; otherwise it is refused.
  bool lenient = false;
  // Draws the open decisions: returns a number below its argument, uniformly distributed. Null: the analytic choice.
  std::function<std::size_t(std::size_t)> draw = nullptr;
  // For the numbers that the sketch decides together first, use the values with this many cheaper ones, not the
  // cheapest. Error if fewer fit, or if the sketch decides none jointly. Random decisions have no rank.
  std::size_t rank = 0;
};

// The schedule of a task.
struct Scheduled {
  loops::Program program;
  std::vector<Step> trace;
  std::vector<Decision> decisions;             // decided in the trace
  std::map<std::string, std::string> layouts;  // of parameters, index maps
  std::set<std::string> follows;  // parameters whose layout follows the task's request and could have been different
};

// Runs the sketch; decisions not in `given` are chosen analytically. Errors: the program is not known, a step is
// refused, a decision that the sketch does not sample or whose value its space does not contain (for example from a
// record of another version).
Result<Scheduled> run(const Sketch& sketch, const Task& task, const Decisions& given = {});
// The same with any way of deciding; nullopt if the sketch does not apply to the program. Further error: the drawn
// values do not fit.
Result<std::optional<Scheduled>> try_run(const Sketch& sketch, const Task& task, Deciding deciding);

// The schedules that the sketch ranks best by the numbers that it decides together first, the default first, at most
// `few` of them, which is at least 1. Applicable decisions in `given` are kept in all of them. Errors: as for run().
Result<std::vector<Scheduled>> run_best(const Sketch& sketch, const Task& task, std::size_t few,
                                        const Decisions& given = {});

// The task's program after applying a trace, without the sketch.
Result<loops::Program> replay(const Task& task, std::span<const Step> trace);

}  // namespace dovetail::schedule

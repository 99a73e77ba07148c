// Tuning: searches the schedules of tasks for those that cost least, measures them, and records what it finds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/work.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"
#include "compiler/tune/measure.h"
#include "compiler/tune/ranking.h"
#include "compiler/tune/records.h"

namespace dovetail::tune {

// A kernel of a network, as often as it has it.
struct TuningTask {
  schedule::Task task;
  schedule::Sketch sketch;
  std::string name;  // of the first kernel
  int uses = 1;
};

struct Trial {
  Outcome outcome = Outcome::refused;
  double cost = 0;  // where it was measured
  std::string decisions;
  std::string why;
};

struct TaskResult {
  std::string key, name, target, kind, machine, unit;
  int uses = 1;
  double default_cost = 0;
  double best_cost = 0;  // the default's, where nothing better was found
  schedule::Decisions default_decisions, best_decisions;
  std::vector<schedule::Step> best_trace;
  std::vector<Trial> trials;  // of this run, in order; the default is none of them
  std::int64_t known = 0;     // candidates that the records had already
  std::string ended;          // why there are no more: "trials", "the space is exhausted", ...
  double gain() const { return best_cost > 0 ? default_cost / best_cost : 1; }
};

struct Progress {
  const std::vector<TaskResult>& tasks;
  std::size_t task = 0;                      // that the last batch was of
  std::int64_t trials = 0, most_trials = 0;  // of all tasks
  double seconds = 0;
  std::optional<double> seconds_left = {};
};

struct TuneOptions {
  MakeMeasurer measurer;               // of the tasks' target
  std::int64_t trials = 64;            // for each task, on average: those with more to gain get more
  std::optional<double> seconds = {};  // ends after the batch during which they have passed
  std::int64_t early_stop = 128;  // a task ends that has gained less than half a per cent in so many trials; 0: none
  std::string search = "guided";  // searches()
  std::uint64_t seed = 1;
  std::int64_t batch = 8;      // candidates that are measured before the search learns of them
  Records* records = nullptr;  // learned from at the start, and written after each batch; null: none
  Ranking* ranking = nullptr;  // shared by all tasks; null: one that lives as long as the call
  Work* work = nullptr;        // ends between candidates when it is stopped; null: nobody does
  std::function<void(const Progress&)> on_progress = nullptr;  // after each batch
};

// Results in the order of the tasks. What a stopped or short run has found stays recorded and is returned. Errors: an
// unknown search, a default schedule that cannot be measured or is wrong, records that cannot be read or written.
Result<std::vector<TaskResult>> tune(const std::vector<TuningTask>& tasks, const TuneOptions& options);

// The geometric mean of the tasks' gains, and what the network gains as a whole: every task counts as often as it is
// used. 1 where there are none.
struct Gain {
  double geometric_mean = 1, network = 1;
};
Gain gain_of(const std::vector<TaskResult>& tasks);

}  // namespace dovetail::tune

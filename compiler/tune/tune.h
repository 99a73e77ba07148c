// Tuning: searches for the schedules of tasks with the least cost, measures them, and records the results.
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

// A kernel of a network, and how often it occurs.
struct TuningTask {
  schedule::Task task;
  schedule::Sketch sketch;
  std::string name;  // name of the first kernel
  int uses = 1;
};

struct Trial {
  Outcome outcome = Outcome::refused;
  double cost = 0;  // valid if it was measured
  std::string decisions;
  std::string why;
};

struct TaskResult {
  std::string key, name, target, kind, machine, conditions, unit;
  int uses = 1;
  double default_cost = 0;
  double best_cost = 0;  // the default's if nothing better was found
  schedule::Decisions default_decisions, best_decisions;
  std::vector<schedule::Step> best_trace;
  std::vector<Trial> trials;  // of this run, in order, without the default
  std::int64_t known = 0;     // candidates that were already recorded
  std::string ended;          // why it ended: "trials", "the space is exhausted", ...
  double gain() const { return best_cost > 0 ? default_cost / best_cost : 1; }
};

struct Progress {
  const std::vector<TaskResult>& tasks;
  std::size_t task = 0;                      // the task of the last batch
  std::int64_t trials = 0, most_trials = 0;  // of all tasks
  double seconds = 0;
  std::optional<double> seconds_left = {};
};

struct TuneOptions {
  MakeMeasurer measurer;               // for the tasks' target
  std::int64_t trials = 64;            // per task, on average: tasks with a larger expected gain get more
  std::optional<double> seconds = {};  // time limit: ends after the current batch
  std::int64_t early_stop = 128;       // a task ends if it gained less than 0.5 % in this many trials; 0: never
  std::string search = "guided";       // searches()
  std::uint64_t seed = 1;
  std::int64_t batch = 8;      // candidates per batch: measured before the search learns their costs
  Records* records = nullptr;  // read at the start, and written after each batch; null: none
  Ranking* ranking = nullptr;  // shared by all tasks; null: a temporary one
  Work* work = nullptr;        // can stop the tuning between candidates; null: never stopped
  std::function<void(const Progress&)> on_progress = nullptr;  // after each batch
};

// Results in the order of the tasks. The results of a stopped or short run are recorded and returned. Errors: an
// unknown search, a default schedule that cannot be measured or is wrong, records that cannot be read or written.
Result<std::vector<TaskResult>> tune(const std::vector<TuningTask>& tasks, const TuneOptions& options);

// The geometric mean of the tasks' speedups, and the speedup of the network as a whole: every task counts as often as
// it is used. 1 if there are no tasks.
struct Gain {
  double geometric_mean = 1, network = 1;
};
Gain gain_of(const std::vector<TaskResult>& tasks);

}  // namespace dovetail::tune

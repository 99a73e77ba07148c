#include "compiler/tune/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>

#include "compiler/tune/allocation.h"
#include "compiler/tune/rankings.h"
#include "compiler/tune/search.h"
#include "compiler/tune/task_tuner.h"

namespace dovetail::tune {

namespace {

using Clock = std::chrono::steady_clock;

// Learns from candidates of related tasks that were measured before, by this process or another.
Result<void> learn_neighbors(const std::vector<TuningTask>& tasks, const Records* records, Ranking& ranking) {
  if (!records || tasks.empty()) return {};
  DOVETAIL_ASSIGN(const std::vector<Record> all, records->all());
  std::set<std::string> own;  // the searches learn these
  for (const TuningTask& task : tasks) own.insert(schedule::key(task.task));
  for (const Record& record : all)
    if (record.target == tasks.front().task.target && !own.contains(record.task) && !record.features.empty() &&
        record.feature_version == kFeatureVersion)
      ranking.add(record.features, record.cost / record.default_cost);
  return {};
}

class Tuning {
 public:
  Tuning(const std::vector<TuningTask>& tasks, const TuneOptions& options) : tasks_(tasks), options_(options) {}

  Result<std::vector<TaskResult>> run() {
    DOVETAIL_ASSIGN(const SearchRow* const search, find_search(options_.search));
    std::unique_ptr<Ranking> own;
    if (!options_.ranking) own = make_ranking().ranking;
    Ranking& ranking = options_.ranking ? *options_.ranking : *own;
    DOVETAIL_TRY(learn_neighbors(tasks_, options_.records, ranking));
    for (const TuningTask& task : tasks_)
      tuners_.push_back(std::make_unique<TaskTuner>(task, options_, *search, ranking));
    DOVETAIL_TRY(search_all());
    std::vector<TaskResult> results;
    for (const auto& tuner : tuners_) {
      DOVETAIL_TRY(tuner->confirm());
      results.push_back(tuner->result());
    }
    return results;
  }

 private:
  Result<void> search_all() {
    std::vector<Allocation::Share> shares;
    for (std::size_t i = 0; i < tuners_.size(); ++i) {
      if (stopped()) return {};
      DOVETAIL_TRY(tuners_[i]->begin());
      const TaskResult& result = tuners_[i]->result();
      shares.push_back({static_cast<double>(result.uses), result.default_cost});
      report(i);
    }
    AllocationOptions allocation_options;
    allocation_options.patience_trials = static_cast<std::size_t>(options_.early_stop);
    Allocation allocation(shares, allocation_options);
    const std::int64_t most = options_.trials * static_cast<std::int64_t>(tasks_.size());
    while (trials_ < most && !stopped() && !out_of_time()) {
      const auto next = allocation.next();
      if (!next) break;
      TaskTuner& tuner = *tuners_[*next];
      DOVETAIL_ASSIGN(const std::int64_t done, tuner.step(std::min(options_.batch, most - trials_)));
      if (stopped()) break;
      trials_ += done;
      if (done == 0) {
        tuner.end("no schedules left");
        allocation.exhausted(*next);
      } else {
        allocation.learn(*next, static_cast<std::size_t>(done), tuner.result().best_cost);
        if (allocation.state(*next) == Allocation::State::stagnated) tuner.end("no gain in the last trials");
      }
      report(*next);
    }
    const std::string why = stopped() ? "stopped" : out_of_time() ? "time" : "trials";
    for (const auto& tuner : tuners_)
      if (tuner->result().ended.empty()) tuner->end(why);
    return {};
  }

  void report(std::size_t task) const {
    if (!options_.on_progress) return;
    std::vector<TaskResult> results;
    for (const auto& tuner : tuners_) results.push_back(tuner->result());
    Progress progress{results, task, trials_, options_.trials * static_cast<std::int64_t>(tasks_.size()), seconds()};
    if (trials_ > 0)
      progress.seconds_left =
          progress.seconds * static_cast<double>(progress.most_trials - trials_) / static_cast<double>(trials_);
    if (options_.seconds)
      progress.seconds_left = std::min(progress.seconds_left.value_or(*options_.seconds),
                                       std::max(0.0, *options_.seconds - progress.seconds));
    options_.on_progress(progress);
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool out_of_time() const { return options_.seconds && seconds() >= *options_.seconds; }
  bool stopped() const { return options_.work != nullptr && options_.work->stopped(); }

  const std::vector<TuningTask>& tasks_;
  const TuneOptions& options_;
  std::vector<std::unique_ptr<TaskTuner>> tuners_;
  std::int64_t trials_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Result<std::vector<TaskResult>> tune(const std::vector<TuningTask>& tasks, const TuneOptions& options) {
  return Tuning(tasks, options).run();
}

Gain gain_of(const std::vector<TaskResult>& tasks) {
  double logarithms = 0, before = 0, after = 0, measured = 0;
  for (const TaskResult& task : tasks) {
    if (task.best_cost <= 0) continue;
    ++measured;
    logarithms += std::log(task.gain());
    before += task.default_cost * task.uses;
    after += task.best_cost * task.uses;
  }
  if (measured == 0) return {};
  return {std::exp(logarithms / measured), before / after};
}

}  // namespace dovetail::tune

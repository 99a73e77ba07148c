// The search through one task's schedules, batch by batch.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/tune/search.h"
#include "compiler/tune/sketch_space.h"
#include "compiler/tune/tune.h"

namespace dovetail::tune {

class TaskTuner {
 public:
  // What is handed in outlives the tuner.
  TaskTuner(const TuningTask& given, const TuneOptions& options, const SearchRow& search, Ranking& ranking);

  // Measures the default, and learns from the records.
  Result<void> begin();
  // Measures at most so many candidates and records them; how many. 0: there are none left.
  Result<std::int64_t> step(std::int64_t most);
  // Measures the best again where costs vary: the luckiest of many samples is not the best.
  Result<void> confirm();

  const TaskResult& result() const { return result_; }
  void end(std::string why) { result_.ended = std::move(why); }

 private:
  struct Measured {
    Candidate candidate;
    double cost;
  };

  Result<void> learn_records();
  Record record_of(const Candidate& candidate, const Measurement& measurement, std::string_view found_by) const;
  // Learns of each, and records all at once.
  Result<void> take(std::span<const Candidate> candidates, std::span<const Measurement> measurements);
  void keep_best(const Candidate& candidate, double cost);
  bool stopped() const { return options_.work != nullptr && options_.work->stopped(); }

  const TuningTask& given_;
  const TuneOptions& options_;
  const SearchRow& row_;
  SketchSpace space_;
  std::unique_ptr<Search> search_;
  std::unique_ptr<Measurer> measurer_;
  TaskResult result_;
  std::set<std::string> known_;  // decisions of records, as Candidate::text has them
  std::vector<Measured> best_;   // the first few, for confirm()
};

}  // namespace dovetail::tune

// The search through the schedules of one task, batch by batch.
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
  // The arguments must outlive the tuner.
  TaskTuner(const TuningTask& given, const TuneOptions& options, const SearchRow& search, Ranking& ranking);

  // Measures the default, and learns from the records.
  Result<void> begin();
  // Measures and records at most `most` candidates; returns how many. 0: there are none left.
  Result<std::int64_t> step(std::int64_t most);
  // Measures the best again if costs vary: the best of many noisy samples is partly luck.
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
  // Learns from each measurement, and records all at once.
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
  std::set<std::string> known_;  // Candidate::text of recorded candidates
  std::vector<Measured> best_;   // the first few, for confirm()
};

}  // namespace dovetail::tune

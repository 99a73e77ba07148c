// Tuning in several processes: each candidate is measured by any free process. For measurers whose costs do not depend
// on the machine and its load, such as cycles of a simulator.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/work.h"
#include "compiler/tune/measure.h"
#include "compiler/tune/tune.h"
#include "explore/distribute/farm.h"

namespace dovetail::explore {

// For process 0: `own` measures the candidates of this process. The measurers throw ResourceError if another process
// fails; earlier records stay in the database. `farm` and `work` outlive the measurers.
tune::MakeMeasurer share_measurer(tune::MakeMeasurer own, Farm& farm, Work* work);

// For the other processes: the jobs of such measurers.
class CandidateJobs {
 public:
  CandidateJobs(std::span<const tune::TuningTask> tasks, tune::MakeMeasurer own);
  // Errors: this process does not have the task, or its sketch generates another schedule from the decisions.
  Result<std::string> measure(std::string_view job);

 private:
  std::map<std::string, const tune::TuningTask*> tasks_;  // by key
  tune::MakeMeasurer own_;
  std::map<std::string, std::unique_ptr<tune::Measurer>> measurers_;  // by task, made for its first job
};

}  // namespace dovetail::explore

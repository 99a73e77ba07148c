// Tuning in several processes: candidates are measured by whichever is free. For measurers whose costs do not depend on
// where and alongside what they are measured, as cycles of a simulator do not.
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

// Process 0's: `own` measures what falls to this process. Its measurers throw ResourceError where other processes fail;
// what was recorded before stays. Both outlive the measurers.
tune::MakeMeasurer share_measurer(tune::MakeMeasurer own, Farm& farm, Work* work);

// The others': the jobs of such measurers.
class CandidateJobs {
 public:
  CandidateJobs(std::span<const tune::TuningTask> tasks, tune::MakeMeasurer own);
  // Errors: a task that this process does not have, or that its sketch writes another way.
  Result<std::string> measure(std::string_view job);

 private:
  std::map<std::string, const tune::TuningTask*> tasks_;  // by key
  tune::MakeMeasurer own_;
  std::map<std::string, std::unique_ptr<tune::Measurer>> measurers_;  // made with the first job of their task
};

}  // namespace dovetail::explore

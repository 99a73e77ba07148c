// How far a sweep has come, on stderr: a line that is written over on a terminal, else lines at growing intervals.
#pragma once

#include <chrono>
#include <optional>

#include "explore/sweep/sweep.h"

namespace dovetail::cli {

class ExploreProgress {
 public:
  void show(const explore::SweepProgress& progress);
  void end();  // clears the line

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> next_;  // nothing was shown yet
  bool line_shown_ = false;
};

}  // namespace dovetail::cli

// The progress of a sweep (cli/shell/progress.h).
#pragma once

#include "cli/shell/progress.h"
#include "explore/sweep/sweep.h"

namespace dovetail::cli {

class ExploreProgress {
 public:
  void show(const explore::SweepProgress& progress);
  void end() { line_.end(); }

 private:
  ProgressLine line_{ProgressLine::Begin::at_once};
};

}  // namespace dovetail::cli

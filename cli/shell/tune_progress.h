// The progress of tuning (cli/shell/progress.h).
#pragma once

#include <string_view>

#include "cli/shell/progress.h"
#include "compiler/tune/tune.h"

namespace dovetail::cli {

class TuneProgress {
 public:
  // `target`: the target whose tasks are being tuned.
  void show(std::string_view target, const tune::Progress& progress);
  void end() { line_.end(); }

 private:
  ProgressLine line_{ProgressLine::Begin::at_once};
};

}  // namespace dovetail::cli

// Runs one model on each target and configuration, and writes down what that took.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/report_progress.h"
#include "base/result.h"
#include "base/work.h"
#include "driver/comparison.h"
#include "driver/compile_model.h"
#include "explore/energy/table.h"

namespace dovetail::driver {

struct CompareOptions {
  std::vector<std::string> targets;                // of the target table, in the order of the rows
  std::vector<std::string> hardware;               // configurations, each a row of target accel
  std::map<std::string, std::string> inputs = {};  // by name: a file
  std::uint64_t seed = 1;
  int threads = 0;                          // 0: one per processor
  std::optional<std::int64_t> repeat = {};  // runs that count on this machine; empty: for about two seconds
  explore::EnergyTable energy;
  Work* work = nullptr;
  std::atomic<std::int64_t>* rows_done = nullptr;  // counts rows as they are done; null: nobody watches
  ReportProgress progress = nullptr;               // of compiling
};

struct CompareOutcome {
  ComparedModel model;
  std::vector<std::string> announcements;  // of inputs
  Diagnostics failure;                     // a run failed, or `work` stopped it: the model's rows are not all there
};
// `model`: how the model is compiled, without its targets and hardware. A target that cannot be run is a row that
// says why. Error: bad input.
Result<CompareOutcome> compare_model(const ModelOptions& model, const CompareOptions& options);

}  // namespace dovetail::driver

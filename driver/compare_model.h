// Runs models on each target and configuration, and records latency, energy and results.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/report_progress.h"
#include "base/result.h"
#include "base/work.h"
#include "driver/comparison.h"
#include "driver/compile_model.h"
#include "explore/energy/table.h"

namespace dovetail::driver {

struct CompareOptions {
  std::vector<std::string> targets;                // names of the target table, in the order of the rows
  std::vector<std::string> hardware;               // configurations; one row of target accel for each
  std::map<std::string, std::string> inputs = {};  // input name -> file
  std::map<std::string, NdArray> tensors = {};     // all inputs by name; empty: those of `inputs`, and random ones
  std::uint64_t seed = 1;
  int threads = 0;                          // 0: one per processor
  std::optional<std::int64_t> repeat = {};  // timed runs on this machine; empty: for about two seconds
  explore::EnergyTable energy;
  Work* work = nullptr;
  std::atomic<std::int64_t>* rows_done = nullptr;  // counts rows as they are done; null: not counted
  ReportProgress progress = nullptr;               // of compiling
};

// The number of rows of each model.
std::int64_t rows_of(const CompareOptions& options);

struct CompareOutcome {
  Comparison comparison;
  Diagnostics failure;  // a run failed, or `work` stopped it: rows are missing
};
// `models`: the options of compiling each, without targets and hardware. A target that cannot run on this machine gets
// a row with the reason. Error: bad input.
Result<CompareOutcome> compare_models(const std::vector<ModelOptions>& models, const CompareOptions& options);

}  // namespace dovetail::driver

// Runs one model on each target and configuration, and writes down what that took.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "cli/comparison.h"
#include "cli/model.h"
#include "explore/energy/table.h"

namespace dovetail::cli {

struct CompareOptions {
  std::vector<std::string> targets;   // of the target table, in the order of the rows
  std::vector<std::string> hardware;  // configurations, each a row of target accel
  std::vector<std::string> inputs;    // NAME=FILE
  std::uint64_t seed = 1;
  int threads = 0;                          // 0: one per processor
  std::optional<std::int64_t> repeat = {};  // runs that count on this machine; empty: for about two seconds
  explore::EnergyTable energy;
  Work* work = nullptr;
  std::atomic<std::int64_t>* rows_done = nullptr;  // counts rows as they are done; null: nobody watches
};

// "accel,cpu,cuda": targets that the kit knows, also those that this version or machine lacks, each once.
Result<std::vector<std::string>> parse_compared_targets(std::string_view text);
// Each value may name several configurations: a part without '=' begins the next one, as in "1x16x16,1x32x32" and
// "1x16x16,clock_mhz=200,1x32x32".
std::vector<std::string> split_configurations(const std::vector<std::string>& values);

struct CompareOutcome {
  ComparedModel model;
  std::vector<std::string> announcements;  // of inputs
  Diagnostics failure;                     // a run failed, or `work` stopped it: the model's rows are not all there
};
// `arguments`: how the model is compiled, without its targets and hardware. A target that cannot be run is a row that
// says why. Error: bad input.
Result<CompareOutcome> compare_model(const ModelArguments& arguments, const CompareOptions& options);

}  // namespace dovetail::cli

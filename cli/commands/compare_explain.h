// `dovetail compare --explain`: profiles two runs and explains their difference.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/work.h"
#include "driver/compile_model.h"
#include "driver/model_source.h"
#include "explore/energy/table.h"

namespace dovetail::cli {

struct ExplainOptions {
  std::vector<driver::ModelSource> sources = {};  // models, bundles, or JSON that `dovetail profile` wrote
  std::vector<std::string> hardware = {};         // configurations that the user gave
  driver::ModelOptions model = {};                // of compiling; its source, hardware and targets are set here
  std::vector<std::string> targets = {};          // in order of preference
  std::map<std::string, std::string> inputs = {};
  std::uint64_t seed = 1;
  std::int64_t repeat = 10;
  explore::EnergyTable energy = {};
  Work* work = nullptr;
};
// What driver::explain() returns. Errors: there are not two runs; those of a run.
Result<Json> explain_runs(const ExplainOptions& options);

}  // namespace dovetail::cli

// The gain and the cost of one step more of each resource of a machine. Each step is compiled and timed anew.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "explore/sweep/evaluate.h"
#include "isa/system.h"

namespace dovetail::explore {

struct WhatIfStep {
  std::string change;  // in the form of --hw: "wgt_buffer_bytes=524288"
  std::string why;     // why there are no numbers: the configuration is invalid, or a model does not compile
  Metrics metrics;
  std::string_view encoding;  // encoding_name() of the changed machine
};
struct WhatIfTable {
  isa::Machine machine;
  Metrics base;
  std::vector<WhatIfStep> steps;
};

// Rows: each parameter doubled, each extension added, and a memory that answers at once. Errors: the models do not
// compile for the machine itself; the work was stopped.
Result<WhatIfTable> what_if(const Evaluator& evaluator, const isa::Machine& machine, int jobs, Work* work = nullptr);

std::string to_text(const WhatIfTable& table);
Json to_json(const WhatIfTable& table);

}  // namespace dovetail::explore

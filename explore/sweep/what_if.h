// What one step more of each resource of a machine gives, and what it costs: each step is compiled and timed anew.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "explore/sweep/evaluate.h"
#include "isa/system.h"

namespace dovetail::explore {

struct WhatIfStep {
  std::string change;  // as --hw takes it: "wgt_buffer_bytes=524288"
  std::string why;     // why there are no numbers: no valid configuration, or what does not compile
  Metrics metrics;
};
struct WhatIfTable {
  Metrics base;
  std::vector<WhatIfStep> steps;
};

// Of each parameter twice as much, of each extension the machine with it, and a memory that answers at once. Errors:
// the machine itself does not compile; the work was stopped.
Result<WhatIfTable> what_if(const Evaluator& evaluator, const isa::Machine& machine, int jobs, Work* work = nullptr);

std::string to_text(const WhatIfTable& table);
Json to_json(const WhatIfTable& table);

}  // namespace dovetail::explore

// The decisions that `sample` lines of a trace record, and what later steps refer to as $NAME.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/schedule.h"

namespace dovetail::schedule {

bool is_decision_name(std::string_view name);  // letters, digits and _
Result<std::vector<std::int64_t>> parse_candidates(std::string_view name,
                                                   std::string_view text);  // "4,8,16"; at least one, each at least 1
Result<std::int64_t> require_candidate(std::string_view name, const std::vector<std::int64_t>& candidates,
                                       std::string_view value);

struct Decision {
  std::string name;
  std::vector<std::int64_t> candidates;
  std::int64_t value;
};
// Of accepted sample steps, in order.
std::vector<Decision> decisions_of(std::span<const Step> trace);

// `step` with every $NAME in its arguments replaced by what `trace` decided. Errors: NAME is not decided; a sample that
// decides it again.
Result<Step> resolve(const Step& step, std::span<const Step> trace);

// The trace with another decision; replay it to see whether all its steps are legal then. Errors: no such sample, no
// such candidate.
Result<std::vector<Step>> with_decision(std::span<const Step> trace, std::string_view name, std::int64_t value);

}  // namespace dovetail::schedule

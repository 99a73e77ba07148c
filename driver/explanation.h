// Explains why one run of a model takes another time and energy than a second one, layer by layer, by the causes of the
// cycles of each. docs/howto/comparing.md describes every number.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace dovetail::driver {

// What the time of a layer or step consists of: simulator::kCycleCauseNames, whose cycles add up to the
// accelerator's; `clock`, the time that the cycles of the first run gain or lose by the clock of the second one; and
// `host`, the time of steps that are not on the accelerator.
inline constexpr std::array<std::string_view, 12> kTimeCauses{"gemm",  "alu",        "load acc",    "load uop",
                                                              "other", "load token", "store token", "drain",
                                                              "unit",  "fetch",      "clock",       "host"};

struct ExplainedRun {
  std::string name;   // of a file or a machine
  Json profile = {};  // what `dovetail profile --json` prints, or the JSON of dvt_session_trace
};

// {"kind": "explanation", "a", "b", "difference", "causes", "layers"} (docs/schema/explanation.json): the differences
// are of B minus A. Layers and steps of the same nodes are one row, also where the two runs fuse or place them
// differently. The rows add up to the whole, as do the causes; the rows with the largest differences come first.
// Error: a value is not a profile.
Result<Json> explain(const ExplainedRun& a, const ExplainedRun& b);

}  // namespace dovetail::driver

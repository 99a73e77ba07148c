// The code of a control-flow step: it selects which of its programs (Step::programs) run, and how often. JSON:
//
//   {"kind": "if"}
//     Arguments: the condition, one bool; the inputs of the first program, then those of the second. If it is true the
//     first program runs, else the second; its outputs are the step's results.
//   {"kind": "loop", "carried": N, "limit": N, "trips": bool, "condition": bool}
//     Arguments: the trip count, one int64, if `trips`; the condition, one bool, if `condition`; the carried values;
//     the captured ones. The program takes the iteration (int64[]), the carried and the captured values, and returns
//     the condition, the carried values and the scanned ones. Results: the carried values, the scanned ones with a
//     first axis of extent `limit`, and where there are scanned ones the number of iterations (int64[1]).
//     What a loop does: compiler/ops/control_flow.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/coded_step.h"
#include "bundle/code/target_facts.h"

namespace dovetail::bundle {

inline constexpr std::string_view kFlowTarget = "flow";
extern const TargetFacts kFlowFacts;

struct FlowLoop {
  std::size_t carried = 0;
  std::int64_t limit = 0;
  bool trips = false, condition = false;  // whether the step has these arguments

  std::size_t own_arguments() const { return static_cast<std::size_t>(trips) + static_cast<std::size_t>(condition); }
};
struct FlowCode {
  std::optional<FlowLoop> loop;  // nullopt: an if
};

void encode(const FlowCode& code, Step& step);
Result<FlowCode> decode_flow(const Step& step);
// Checks that arguments, results and the programs' inputs and outputs agree in number and types. Precondition: the
// bundle verifies.
Result<std::vector<CodedStep<FlowCode>>> flow_steps(const Bundle& bundle);

}  // namespace dovetail::bundle

// The code of a step that the host interprets: a loop program as text.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/coded_step.h"
#include "bundle/code/target_facts.h"
#include "loops/ir.h"

namespace dovetail::bundle {

inline constexpr std::string_view kHostTarget = "host";
extern const TargetFacts kHostFacts;

struct HostCode {
  // The program's inputs and constants are the step's arguments, its outputs the results, both in parameter order.
  loops::Program program;
};

void encode(const HostCode& code, Step& step);
Result<HostCode> decode_host(const Step& step);
// Checks that parameters have the types of the step's tensors. Precondition: the bundle verifies.
Result<std::vector<CodedStep<HostCode>>> host_steps(const Bundle& bundle);

}  // namespace dovetail::bundle

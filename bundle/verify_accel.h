// The part of bundle::verify that concerns accelerator steps: configuration, memory and program.
#pragma once

#include <string>
#include <vector>

#include "bundle/bundle.h"

namespace dovetail::bundle {

// Every broken rule as one sentence. Precondition: the bindings' tensor indices are in range.
std::vector<std::string> verify_accel(const Bundle& bundle, const AccelStep& step);

// The same for all steps together: of steps that share a memory, one's segments and tensors keep off another's, but for
// a tensor that both bind at one address. Precondition: each step for itself is in order.
std::vector<std::string> verify_shared_memory(const Bundle& bundle);

}  // namespace dovetail::bundle

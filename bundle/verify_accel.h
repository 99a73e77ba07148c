// The part of bundle::verify that concerns one accelerator step's configuration, memory and program.
#pragma once

#include <string>
#include <vector>

#include "bundle/bundle.h"

namespace dovetail::bundle {

// Every broken rule as one sentence. Precondition: the bindings' tensor indices are in range.
std::vector<std::string> verify_accel(const Bundle& bundle, const AccelStep& step);

}  // namespace dovetail::bundle

// One bundle of several that were compiled from one model for different shapes of its inputs.
#pragma once

#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail {

// The first is the one that is taken for granted; constants and data of steps that are equal are kept once.
// Precondition: at least one. Error: shapes that are not different, inputs or outputs of other names or types.
Result<bundle::Bundle> combine_shapes(std::vector<bundle::Bundle> programs);

}  // namespace dovetail

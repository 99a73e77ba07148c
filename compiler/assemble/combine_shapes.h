// Combines bundles that were compiled from one model for different shapes of its inputs.
#pragma once

#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail {

// The first bundle is the default; equal constants and step data are stored once. Precondition: at least one bundle.
// Error: equal shapes, or inputs or outputs with different names or types.
Result<bundle::Bundle> combine_shapes(std::vector<bundle::Bundle> programs);

}  // namespace dovetail

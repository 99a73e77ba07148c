// The compiler's half of a caller's own target.
#pragma once

#include "base/result.h"
#include "capi/own_target.h"
#include "compiler/target/target.h"

namespace dovetail::capi {

// Error: the target has no compiler's half, or a pattern is malformed.
Result<TargetPointer> make_target(const std::shared_ptr<OwnTarget>& target);

}  // namespace dovetail::capi

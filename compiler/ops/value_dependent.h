// Rows of operators whose results' extents depend on values (OpDef::evaluate).
#pragma once

#include "compiler/ops/op.h"

namespace dovetail::ops {

// Types are those of the results; every input is needed at compile time; there is no program.
OpDef value_dependent(std::string_view op, Result<std::vector<NdArray>> (*evaluate)(const Operands&),
                      Signature signature);

}  // namespace dovetail::ops

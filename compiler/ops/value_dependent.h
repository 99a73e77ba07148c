// Rows of operators whose result extents depend on data (OpDef::evaluate).
#pragma once

#include "compiler/ops/op.h"

namespace dovetail::ops {

// Types are those of the evaluated results; every input is needed at compile time; there is no program.
OpDef value_dependent(std::string_view op, Result<std::vector<NdArray>> (*evaluate)(const Operands&),
                      Signature signature);

}  // namespace dovetail::ops

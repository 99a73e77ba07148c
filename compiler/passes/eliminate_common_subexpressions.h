// Merges constants of equal type and bytes, and nodes of equal operator, attributes and operands.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> eliminate_common_subexpressions(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

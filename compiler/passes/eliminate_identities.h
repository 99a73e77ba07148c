// Removes nodes that hand on their input: Identity, Dropout in inference, Cast to the same type.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> eliminate_identities(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

// Removes nodes that hand on their input: Identity, Dropout in inference, Cast to the same type, reshapes to the same
// shape, Transpose that moves nothing, Slice of everything, Pad by nothing, Expand and Tile that repeat nothing,
// Concat, Sum, Min, Max and Mean of one, Split into one.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> eliminate_identities(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

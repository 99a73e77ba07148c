// Pad in front of a convolution or pool becomes its own padding: zeros for convolutions and for averages that count
// pads, minus infinity for a maximum, and zeros for a maximum of values that are never negative.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> fold_pads(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

// A Pad before a convolution or pool becomes the padding of that node, of floats and of integers: where it pads with 0,
// or the zero point, for convolutions; with 0 for averages that count pads; for a maximum with the least value of the
// type, or with one that no element is less than.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> fold_pads(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

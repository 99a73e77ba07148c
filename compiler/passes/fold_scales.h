// Products and sums of one constant per channel become part of the weights and bias of a Conv, Gemm or MatMul of
// constant weights: behind it, over its output channels, and in front of it, over its input channels. A sum in front
// needs a convolution without padding, as pads are added behind the sum. Computed in binary64 and rounded once; left
// alone where a weight would leave the normal range of its type.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> fold_scales(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

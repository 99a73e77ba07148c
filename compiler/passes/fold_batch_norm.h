// BatchNormalization behind a convolution becomes part of its weights and bias: w' = w * g / sqrt(v + e), b' = (b - m)
// * g / sqrt(v + e) + beta, computed in binary64 and rounded once; only where the convolution's result has no other
// user. Any other one of constant statistics becomes a product and a sum per channel, which fold_scales may take
// further and which cost one multiply-add where they stay.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> fold_batch_norm(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

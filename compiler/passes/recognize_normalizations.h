// LayerNormalization and Softmax written out become one node. A mean is ReduceMean, or ReduceSum with a factor or
// quotient; a variance is the mean of squared distances, or the mean of squares less the square of the mean, cut off at
// 0 or not. Softmax is recognized around its maximum alone, where it means the same for large numbers too.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> recognize_normalizations(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

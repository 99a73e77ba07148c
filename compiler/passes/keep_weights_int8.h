// Convolutions and matrix products of float activations by quantized constants read the weights as int8: dovetail.wconv
// and wgemm.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

// Takes Conv, Gemm and MatMul whose weight is DequantizeLinear of a constant int8 or uint8 with one scale, or one per
// output; everything else is left to constant folding, with a note. Run it behind lower_qdq, before constants are
// folded.
Result<PassOutcome> keep_weights_int8(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

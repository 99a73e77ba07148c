// Quantized graphs in ONNX's QDQ form become integer graphs: docs/reference/quantization.md, operator by operator.
// QOperator forms (QLinearConv, QLinearMatMul) are QDQ forms since import.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

// What cannot be taken stays float (DequantizeLinear, the operator, QuantizeLinear) and a note says why. Values that
// QuantizeLinear nodes produced keep their names, but for those between tables that are composed. Run it before folding
// DequantizeLinear of constants (FoldScope::keep_dequantized).
Result<PassOutcome> lower_qdq(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

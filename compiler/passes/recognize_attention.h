// Scaled dot-product attention written out, MatMul(Softmax(MatMul(q, k) * scale + mask), v), becomes
// dovetail.attention; the scale may be a factor or a divisor behind the first product, or apply to q alone.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> recognize_attention(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

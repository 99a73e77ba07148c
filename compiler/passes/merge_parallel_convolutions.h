// Convolutions of one input and one geometry become one, and so do Gemm and MatMul of constant weights, with an
// activation that all have alike; a Split gives each reader its part, unless all parts go side by side into one Concat.
// The price is that Split: so they are merged only where the vectors that narrow results leave idle, and the starts of
// kernels saved, cost more than moving the results (kProductsPerByte). Where they are not, a note has both numbers.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> merge_parallel_convolutions(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

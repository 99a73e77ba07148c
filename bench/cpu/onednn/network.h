// A whole network with oneDNN: our graph as a chain of primitives, with bias, residual sum and activation fused into
// the convolutions.
#pragma once

#include "base/result.h"
#include "bench/cpu/candidate.h"
#include "compiler/graph/graph.h"

namespace dovetail::bench::onednn {

// Supports float32 networks of Conv, BatchNormalization after Conv, Relu, Clip, Add, MaxPool, GlobalAveragePool,
// Flatten and Gemm with one input and one output, both plain NCHW. Errors: anything else.
Result<Candidate> make_network(graph::Graph graph, const NdArray& input);

}  // namespace dovetail::bench::onednn

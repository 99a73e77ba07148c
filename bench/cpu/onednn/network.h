// A whole network by oneDNN: our graph as a chain of primitives, with bias, residual sum and activation inside the
// convolutions.
#pragma once

#include "base/result.h"
#include "bench/cpu/candidate.h"
#include "compiler/graph/graph.h"

namespace dovetail::bench::onednn {

// Takes float32 networks of Conv, BatchNormalization after it, Relu, Clip, Add, MaxPool, GlobalAveragePool, Flatten
// and Gemm with one input and one output. The input is plain NCHW, and so is the output. Errors: anything else.
Result<Candidate> make_network(graph::Graph graph, const NdArray& input);

}  // namespace dovetail::bench::onednn

// Cross-layer equalization (Nagel et al., «Data-free quantization through weight equalization and bias correction»,
// ICCV 2019, section 4.1): channels that one layer makes large and the next one small again lose resolution in both.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"

namespace dovetail::quantize {

// Applies to each Conv or Gemm whose only reader is a Conv, Gemm or MatMul, possibly through operators that commute
// with a positive factor per channel (ReLU, LeakyReLU, pooling, Flatten): output channel c of the first layer is
// divided by s[c] and the matching weights of the second are multiplied by s[c], where s[c] = sqrt(max|w1[c]| /
// max|w2[c]|) rounded to a power of two. The graph still computes the same function, since each sum is scaled exactly.
// Repeated until no factor changes. Returns the pairs of node names.
std::vector<std::pair<std::string, std::string>> equalize(graph::Graph& graph);

}  // namespace dovetail::quantize

// Cross-layer equalization (Nagel et al., «Data-free quantization through weight equalization and bias correction»,
// ICCV 2019, section 4.1): channels that one layer makes large and the next makes small again lose steps on both sides.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"

namespace dovetail::quantize {

// Of each Conv or Gemm that one Conv, Gemm or MatMul alone reads, at most through what commutes with a positive factor
// for each channel (ReLU, LeakyReLU, pooling, Flatten): output channel c of the first is divided by s[c], what the
// second makes of it multiplied, s[c] = sqrt(max|w1[c]| / max|w2[c]|) rounded to a power of two. So the graph computes
// the same function, every sum scaled exactly. Repeated until no factor changes. The pairs, by node names.
std::vector<std::pair<std::string, std::string>> equalize(graph::Graph& graph);

}  // namespace dovetail::quantize

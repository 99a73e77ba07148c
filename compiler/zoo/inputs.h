// Samples for the zoo's models: seeded, the same on every platform, of about unit variance, and different from each
// other beyond their noise. (White noise would suffice for ranges, but a network that averages over a whole image
// cannot distinguish two samples of it.)
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/ndarray.h"
#include "compiler/graph/graph.h"

namespace dovetail::zoo {

// Inputs by name. Images [n, c, h, w] consist of a color, a smooth field and noise; other tensors of a common row on
// the last axis and noise. Precondition: float32 inputs.
std::map<std::string, NdArray> sample_inputs(const graph::Graph& graph, std::uint64_t seed, int sample);

}  // namespace dovetail::zoo

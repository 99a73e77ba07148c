// A network of layers given by shape: int8 in QDQ form (docs/reference/quantization.md), with pseudo-random weights.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/shapes/layer.h"

namespace dovetail::shapes {

// The layers are independent: each has its inputs, int8 tensors "<layer>.input/steps", and an output
// "<layer>/steps" (those of a maximum are "<layer>.input" and "<layer>"), and Graph::apart keeps their programs apart.
// The weights are those of the zoo's builder (compiler/zoo/builder.h), a scale for each filter; the scales of inputs
// and results follow from the statistics that the builder expects, without running anything. Precondition: check()
// accepts every layer, and the names are different. Error: no layers, or more than kMostLayers.
Result<graph::Graph> build_layers(std::string_view name, std::span<const Layer> layers, std::uint64_t seed = 1);

}  // namespace dovetail::shapes

// The float network behind a quantized one: the same nodes without the rounding of activations.
#pragma once

#include <cstddef>

#include "compiler/graph/graph.h"

namespace dovetail::quantize {

// Takes out every DequantizeLinear that undoes a QuantizeLinear, with it where nothing else uses that. Weights keep the
// values of their int8 steps. How many were taken out; 0: the graph has no such pair. What has no such pair stays
// integer: operators of the QLinear form, inputs and outputs of the model that are integers.
std::size_t strip_qdq(graph::Graph& graph);

}  // namespace dovetail::quantize

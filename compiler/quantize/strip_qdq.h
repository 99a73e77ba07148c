// Recovers the float network of a quantized one: the same nodes without the rounding of activations.
#pragma once

#include <cstddef>

#include "compiler/graph/graph.h"

namespace dovetail::quantize {

// Removes each DequantizeLinear that undoes a QuantizeLinear, and the latter if it has no other users. Weights keep the
// values of their int8 steps. Returns how many were removed; 0: the graph has no such pair. Everything else stays
// integer: operators of the QLinear form, integer inputs and outputs of the model.
std::size_t strip_qdq(graph::Graph& graph);

}  // namespace dovetail::quantize

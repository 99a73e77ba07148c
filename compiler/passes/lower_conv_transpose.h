// The pass lower_conv_transpose (list.h) for one quantized node, before lower_qdq.
#pragma once

#include "compiler/passes/list.h"

namespace dovetail::passes {

// Lowers the ConvTranspose if the weights are int8 or uint8 steps with one scale, or one per output, and a
// QuantizeLinear follows (perhaps after a Relu or Clip). The phases are quantized with that QuantizeLinear's scale, and
// int8 values are moved, so that lower_qdq finds a Conv and a movement. Missing taps are the zero point. Returns false
// if the node has another form.
bool lower_quantized_conv_transpose(graph::Graph& graph, graph::NodeId id);

}  // namespace dovetail::passes

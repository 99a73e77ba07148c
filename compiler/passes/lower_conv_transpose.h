// The pass lower_conv_transpose (list.h) for one quantized node, before lower_qdq.
#pragma once

#include "compiler/passes/list.h"

namespace dovetail::passes {

// Lowers the ConvTranspose if the weights are int8 or uint8 steps with one scale, or one per output, and a
// QuantizeLinear follows (perhaps after a Relu or Clip). The phases are quantized with its scale and steps are moved,
// so that lower_qdq finds a Conv and movement. Missing taps have the zero point. False if the node has another form.
bool lower_quantized_conv_transpose(graph::Graph& graph, graph::NodeId id);

}  // namespace dovetail::passes

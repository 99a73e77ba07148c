// The pass lower_conv_transpose (list.h) for one quantized node, before lower_qdq.
#pragma once

#include "compiler/passes/list.h"

namespace dovetail::passes {

// Lowers the ConvTranspose where the weights are int8 or uint8 steps with one scale, or one for each output, and a
// QuantizeLinear follows (after a Relu or Clip): the phases are quantized with its scale, and what is moved are steps,
// so that lower_qdq finds a Conv and movement. Taps that are missing are the zero point. Whether it was such a node.
bool lower_quantized_conv_transpose(graph::Graph& graph, graph::NodeId id);

}  // namespace dovetail::passes

// ConvTranspose of constant weights becomes a Conv that computes the elements between two inputs as so many channels,
// and the movement that puts them side by side. A direct definition multiplies stride^2 times as many zeros.
//
// Element q · stride + r of the whole product (0 <= r < stride) is Σ x[q − t] · w[r + t · stride]: for each r a
// convolution with every stride-th tap. Where the strides do not divide the kernel, the missing taps are zeros, which
// turn an infinite input into NaN: so it is a pass of level 2.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

Result<PassOutcome> lower_conv_transpose(graph::Graph& graph, const PassContext& context = {});

// The same where the weights are int8 or uint8 steps with one scale, or one for each output, and a QuantizeLinear
// follows (behind a Relu or Clip): the phases are quantized with its scale, and what is moved are steps, so that
// lower_qdq finds a Conv and movement. Taps that are missing are the zero point. Whether it was such a node.
bool lower_quantized_conv_transpose(graph::Graph& graph, graph::NodeId id);

}  // namespace dovetail::passes

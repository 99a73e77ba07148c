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

}  // namespace dovetail::passes

// Zero points of integer products whose weights are constant, as dynamic quantization makes them: out of the sum, where
// each product of bytes would need a subtraction, and into a term for each output channel behind it.
#pragma once

#include "compiler/passes/pass.h"

namespace dovetail::passes {

// MatMulInteger(a, b, za, zb) with constant b and zb, za one number: MatMulInteger(a, b - zb) - za * sums of the
// columns of b - zb, exactly, as all of it wraps in int32. Where b - zb does not fit in int8, unsigned b less 128 does,
// and what is left of zb goes with the sums of the rows of a. ConvInteger likewise, padded with za in front where it
// pads; in groups only where w - zw fits.
Result<PassOutcome> take_out_zero_points(graph::Graph& graph, const PassContext& context = {});

}  // namespace dovetail::passes

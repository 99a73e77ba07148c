// Depthwise convolutions by the instruction WINDOW (isa/semantics/window.h). Results are computed in stripes of rows:
// the pixels that a stripe reads are pushed column by column, from the last column and row to the first, so that the
// tap at row r and column c of the kernel is c * pushes + r for every result.
#pragma once

#include <cstdint>

#include "base/ndarray.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/programs.h"

namespace dovetail::accel {

// The pixels that a stripe pushes for each column (ConvSpec::pushes), with the rows of results for which all stripes
// push the fewest; 0 if the window or a kernel of micro-ops cannot hold the taps, or the convolution is not depthwise.
// `weight`: the model's, [o, c of a group, ky, kx]; `rows`: of the results.
std::int64_t window_pushes(const ConvSpec& spec, const NdArray& weight, std::int64_t channels, std::int64_t rows,
                           const Core& config);

// The parameter W before packing: int8 [o, tap].
NdArray window_weights(const ConvSpec& spec, const NdArray& weight);

}  // namespace dovetail::accel

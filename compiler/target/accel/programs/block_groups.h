// Convolutions of groups as products of channel blocks. Neighboring groups are merged into block groups that have
// whole channel blocks on both sides; weights off a block group's diagonal are zero. A depthwise convolution reads one
// channel block for each that it writes.
#pragma once

#include <cstdint>

#include "base/ndarray.h"
#include "compiler/target/accel/programs/layout.h"
#include "compiler/target/accel/programs/programs.h"

namespace dovetail::accel {

// The largest number of block groups into which `groups` groups can be merged, so that each group is in one of them; 1
// if no merge ends at block borders. GEMM's steps for each result are inversely proportional to this number.
std::int64_t block_groups(std::int64_t groups, const TensorLayout& x, const TensorLayout& y);

// Whether all channels and taps of a depthwise convolution [o, 1, ky, kx] have the same weight, like an average.
bool is_uniform(const NdArray& weight, std::int64_t groups);

// The shape of parameter W before packing, and its value: int8 [o, c of a block group, ky, kx], or with
// `uniform_weights` [o of a block group, c of a block group, 1, 1]; by WINDOW [o, tap]. `weight`: the model's, [o, c of
// a group, ky, kx].
Shape weight_shape(const ConvSpec& spec);
NdArray block_weights(const ConvSpec& spec, const NdArray& weight);

}  // namespace dovetail::accel

// Finds the convolutions that register tiles support, and their operands.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/target/cpu/cpu.h"
#include "loops/ir.h"

namespace dovetail::cpu {

// The product x[n, c, ..] * w[o, c, ..] in a block [n, o, spatial...; c, kernel...]: its loads, and the number of
// groups of output channels with separate input channels (0: channels are indexed in another way). With `split`, the
// groups have an iterator before that of a group's output channels (Preparation::split_groups).
struct ConvOperands {
  loops::Buffer x, w;
  std::int64_t groups = 0;
  bool split = false;
  std::int64_t outputs() const { return w->shape[0] / groups; }  // per group
  std::int64_t inputs() const { return w->shape[1]; }            // per group
};
ConvOperands conv_operands(const loops::Block& block);

// Float32 or int32 sums in one to three dimensions. Depthwise convolutions are excluded: they are windows.
bool is_convolution(const loops::Block* block);

// Whether tiles cover the pixels in order, with all output channels of some pixels at a time: used if the windows are
// single pixels (so there are few products and memory traffic dominates) and the second-level cache holds the weights.
bool pixels_in_order(std::int64_t outputs, std::int64_t inputs, std::int64_t window, DType weights, const Cpu& cpu);

// Whether whole vectors of output channels suit dot products; does not check the type of the activations.
bool suits_dot_products(std::int64_t channels_out, const Cpu& cpu);

// [n, channel, ..]: lines, images, volumes.
inline constexpr bool may_be_image(std::size_t rank) { return rank >= 3 && rank <= 5; }
// The layout of channels-last images: "i0,i2,i3,i1".
std::string channels_last(std::size_t rank);
// The layout of channels-last weights with one channel each: "i2,i3,i1,i0".
std::string weights_by_channel(std::size_t rank);

}  // namespace dovetail::cpu

// Which blocks are convolutions that register tiles can take, and what they multiply.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/target/cpu/cpu.h"
#include "loops/ir.h"

namespace dovetail::cpu {

// The product x[n, c, ..] * w[o, c, ..] in a block [n, o, spatial...; c, kernel...]: its loads, and how many groups of
// output channels have input channels of their own (0: channels are indexed in another way). Where `split`, groups have
// an iterator before that of a group's output channels (Preparation::split_groups).
struct ConvOperands {
  loops::Buffer x, w;
  std::int64_t groups = 0;
  bool split = false;
  std::int64_t outputs() const { return w->shape[0] / groups; }  // of a group
  std::int64_t inputs() const { return w->shape[1]; }            // of a group
};
ConvOperands conv_operands(const loops::Block& block);

// Float32 or int32 sums in one to three dimensions. Depthwise ones are none: they are windows.
bool is_convolution(const loops::Block* block);

// Whether tiles go over the pixels in their order, all output channels of some pixels at a time: where the windows are
// single pixels, and so products few, what is read and written counts, and the second level holds the weights.
bool pixels_in_order(std::int64_t outputs, std::int64_t inputs, std::int64_t window, DType weights, const Cpu& cpu);

// Four bytes a lane, in whole vectors of output channels; but for the type of the activations.
bool suits_dot_products(std::int64_t channels_out, const Cpu& cpu);

// [n, channel, ..]: lines, images, volumes.
inline constexpr bool may_be_image(std::size_t rank) { return rank >= 3 && rank <= 5; }
// Images lie with their channels last: "i0,i2,i3,i1".
std::string channels_last(std::size_t rank);
// And weights of one channel each with their channels last: "i2,i3,i1,i0".
std::string weights_by_channel(std::size_t rank);

}  // namespace dovetail::cpu

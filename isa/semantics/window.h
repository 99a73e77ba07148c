// WINDOW: depthwise products. The window is a FIFO of block_in INP elements, empty (all zeros) when an instruction
// begins. Each step pushes an element; unless its micro-op only pushes, it then adds, lane by lane, the sum over t of
// window[t] times tap t of the weights, where window[t] was pushed t steps before.
//
// A convolution pushes the pixels of a stripe column by column, P rows of each, from the last pixel to the first: the
// tap at row r and column c of the kernel is then t = c * P + r, for every row of results of the stripe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/instruction.h"
#include "isa/semantics/gemm.h"
#include "isa/semantics/wrap.h"
#include "isa/spec/layout.h"

namespace dovetail::isa::semantics {

// The value of Uop::wgt of a micro-op that only pushes: all bits 1. So the last WGT element that the field can name is
// reachable only by adding a factor.
constexpr std::uint32_t push_only(const HardwareConfig& config, Encoding encoding) {
  const int bits = spec::bits(spec::kWgtIndex, encoding, spec::depths_log2(config, encoding));
  return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
}
inline std::uint32_t push_only(const HardwareConfig& config) { return push_only(config, config.encoding()); }

// window: int8 [block_in][batch][block_in], the newest element first; inp: [batch][block_in].
constexpr void push(std::span<std::int8_t> window, std::span<const std::int8_t> inp) {
  std::copy_backward(window.begin(), window.end() - static_cast<std::ptrdiff_t>(inp.size()), window.end());
  std::copy(inp.begin(), inp.end(), window.begin());
}

// Precondition: block_in == block_out. wgt: [block_out][block_in], the taps of each lane.
constexpr void window(std::span<std::int32_t> acc, std::span<const std::int8_t> window,
                      std::span<const std::int8_t> wgt, TensorBlock block, bool overwrite) {
  for (std::size_t b = 0; b < block.batch; ++b)
    for (std::size_t o = 0; o < block.block_out; ++o) {
      std::int32_t& lane = acc[b * block.block_out + o];
      std::int32_t sum = overwrite ? 0 : lane;
      for (std::size_t t = 0; t < block.block_in; ++t)
        sum = wrapping_add(sum, window[(t * block.batch + b) * block.block_in + o] * wgt[o * block.block_in + t]);
      lane = sum;
    }
}

}  // namespace dovetail::isa::semantics

// GEMM: one micro-op multiplies an input tile by a weight tile, acc[batch][block_out] += inp[batch][block_in] .
// wgt[block_out][block_in]^T.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/instruction.h"
#include "isa/semantics/wrap.h"

namespace dovetail::isa::semantics {

struct TensorBlock {
  std::size_t batch = 0, block_in = 0, block_out = 0;
};

enum class GemmMode : std::uint8_t {
  accumulate,
  overwrite,  // extension: acc = inp . wgt^T; acc is not read
  reset,      // acc = 0; nothing is read
};

// Reset wins over overwrite: it reads no operands.
constexpr GemmMode gemm_mode(const Gemm& gemm) {
  return gemm.reset ? GemmMode::reset : gemm.overwrite ? GemmMode::overwrite : GemmMode::accumulate;
}

constexpr void gemm(std::span<std::int32_t> acc, std::span<const std::int8_t> inp, std::span<const std::int8_t> wgt,
                    TensorBlock block, GemmMode mode) {
  for (std::size_t b = 0; b < block.batch; ++b)
    for (std::size_t o = 0; o < block.block_out; ++o) {
      std::int32_t& lane = acc[b * block.block_out + o];
      std::int32_t sum = mode == GemmMode::accumulate ? lane : 0;
      if (mode != GemmMode::reset)
        for (std::size_t i = 0; i < block.block_in; ++i)
          sum = wrapping_add(sum, inp[b * block.block_in + i] * wgt[o * block.block_in + i]);
      lane = sum;
    }
}

}  // namespace dovetail::isa::semantics

// Plain C++: for CPUs without AVX2, and as a reference in tests.
#include <algorithm>
#include <utility>

#include "isa/semantics/alu.h"
#include "isa/semantics/epilogue.h"
#include "simulator/functional/kernels/kernels.h"

#define DOVETAIL_KERNEL_TARGET

namespace dovetail::simulator {
namespace {

#include "simulator/functional/kernels/lane_loops.inc"

constexpr std::int32_t low_half(std::uint32_t word) { return static_cast<std::int16_t>(word); }
constexpr std::int32_t high_half(std::uint32_t word) { return static_cast<std::int16_t>(word >> 16); }

template <bool overwrite>
void gemm_kernel(const GemmArguments& a) {
  const TileLayout& tile = a.layout;
  const std::size_t groups = tile.groups();
  for (std::size_t y = 0; y < a.iter_out; ++y)
    for (std::size_t x = 0; x < a.iter_in; ++x)
      for (std::size_t k = 0; k < a.uops.count; ++k) {
        std::int32_t* acc = a.acc + (a.uops.dst[k] + y * a.dst.out + x * a.dst.in) * tile.acc_words();
        const std::uint32_t* inp = a.inp + (a.uops.src[k] + y * a.src.out + x * a.src.in) * tile.inp_words();
        const std::uint32_t* wgt =
            a.wgt + (a.uops.wgt[k] + y * a.wgt_factors.out + x * a.wgt_factors.in) * tile.wgt_words();
        for (std::size_t b = 0; b < tile.batch; ++b)
          for (std::size_t o = 0; o < tile.block_out; ++o) {
            std::int32_t sum = 0;  // block_in is at most 4096: no overflow
            for (std::size_t g = 0; g < groups; ++g) {
              const std::uint32_t pair = inp[g * tile.batch + b], weights = wgt[g * tile.wgt_lanes() + o];
              sum += low_half(pair) * low_half(weights) + high_half(pair) * high_half(weights);
            }
            std::int32_t& lane = acc[b * tile.block_out + o];
            lane = overwrite ? sum : isa::semantics::wrapping_add(lane, sum);
          }
      }
}

}  // namespace

Kernels baseline_kernels() {
  Kernels kernels;
  kernels.group_depth = 2;
  kernels.accumulate = gemm_kernel<false>;
  kernels.overwrite = gemm_kernel<true>;
  add_lane_loops(kernels);
  return kernels;
}

}  // namespace dovetail::simulator

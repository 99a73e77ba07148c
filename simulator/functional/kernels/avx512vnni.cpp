// 512-bit vectors: one instruction adds four products to each of sixteen int32 lanes (a vector of ACC).
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "isa/semantics/alu.h"
#include "isa/semantics/epilogue.h"
#include "simulator/functional/kernels/kernels.h"

#define DOVETAIL_KERNEL_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")))

namespace dovetail::simulator {
namespace {

#include "simulator/functional/kernels/lane_loops.inc"

// The words of input group `g` that the lanes of one ACC vector multiply by: from one batch row, or from several
// (`permute`).
template <bool permute>
DOVETAIL_KERNEL_TARGET inline __m512i inputs(const std::uint32_t* words, __m512i row_of_lane) {
  if constexpr (permute) return _mm512_maskz_permutexvar_epi32(0xffff, row_of_lane, _mm512_loadu_si512(words));
  return _mm512_set1_epi32(static_cast<int>(*words));
}

// The position of one vector of ACC within its element, and of its operands within the input and weight elements; in
// words.
struct Slice {
  std::size_t acc = 0, row = 0, wgt = 0;
};

// `block` consecutive trips of the inner loop, beginning with `x`, for one slice and all micro-ops. The trips share
// their weights, which are loaded once. Destinations stay in registers while consecutive micro-ops repeat them, which
// avoids a store and a load per micro-op. `block` > 1 only if the weights are the same in all trips and the
// destinations differ. Always inlined: a call would pass the slice through memory, which doubles the time of a step.
template <int fixed_groups, bool permute, bool overwrite, int block>
DOVETAIL_KERNEL_TARGET __attribute__((always_inline)) inline void run_block(const GemmArguments& a, std::size_t y,
                                                                            std::size_t x, Slice slice,
                                                                            __m512i row_of_lane) {
  const std::size_t batch = a.layout.batch, wgt_lanes = a.layout.wgt_lanes(), acc_words = a.layout.acc_words();
  const std::size_t groups = fixed_groups != 0 ? static_cast<std::size_t>(fixed_groups) : a.layout.groups();
  const std::size_t inp_words = groups * batch, wgt_words = groups * wgt_lanes;
  const std::size_t acc_step = a.dst.in * acc_words, inp_step = a.src.in * inp_words,
                    compensation_step = a.src.in * batch;
  const std::size_t input_offset = y * a.src.out + x * a.src.in;
  std::int32_t* const acc = a.acc + (y * a.dst.out + x * a.dst.in) * acc_words + slice.acc;
  const std::uint32_t* const inp = a.inp + input_offset * inp_words + slice.row;
  const std::int32_t* const compensation = a.compensation + input_offset * batch + slice.row;
  const std::uint32_t* const wgt = a.wgt + (y * a.wgt_factors.out + x * a.wgt_factors.in) * wgt_words + slice.wgt;
  const UopView uops = a.uops;

  std::int32_t* held_at = acc + uops.dst[0] * acc_words;
  __m512i held[block], sum[block];
#pragma GCC unroll 8
  for (int j = 0; j < block; ++j) held[j] = _mm512_loadu_si512(held_at + j * acc_step);
  for (std::size_t k = 0; k < uops.count; ++k) {
    const std::size_t input = uops.src[k];
    const std::uint32_t* words = inp + input * inp_words;
    const std::uint32_t* weights = wgt + uops.wgt[k] * wgt_words;
#pragma GCC unroll 8
    for (int j = 0; j < block; ++j)
      sum[j] = inputs<permute>(
          reinterpret_cast<const std::uint32_t*>(compensation + input * batch + j * compensation_step), row_of_lane);
#pragma GCC unroll 8
    for (std::size_t g = 0; g < groups; ++g) {
      const __m512i vector = _mm512_loadu_si512(weights + g * wgt_lanes);
#pragma GCC unroll 8
      for (int j = 0; j < block; ++j)
        sum[j] = _mm512_dpbusd_epi32(sum[j], vector, inputs<permute>(words + g * batch + j * inp_step, row_of_lane));
    }
    std::int32_t* at = acc + uops.dst[k] * acc_words;
    if (at != held_at) {
#pragma GCC unroll 8
      for (int j = 0; j < block; ++j) _mm512_storeu_si512(held_at + j * acc_step, held[j]);
#pragma GCC unroll 8
      for (int j = 0; j < block; ++j) held[j] = _mm512_loadu_si512(at + j * acc_step);
      held_at = at;
    }
#pragma GCC unroll 8
    for (int j = 0; j < block; ++j) held[j] = overwrite ? sum[j] : _mm512_add_epi32(held[j], sum[j]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < block; ++j) _mm512_storeu_si512(held_at + j * acc_step, held[j]);
}

// Interchanges the two loops, which is legal for accumulation modulo 2^32, but not for overwriting.
GemmArguments exchange_loops(const GemmArguments& a) {
  GemmArguments b = a;
  std::swap(b.iter_out, b.iter_in);
  for (LoopFactors* factors : {&b.dst, &b.src, &b.wgt_factors}) std::swap(factors->out, factors->in);
  return b;
}

bool weights_stay(const GemmArguments& a) { return a.wgt_factors.in == 0 && a.dst.in != 0; }

template <bool permute>
DOVETAIL_KERNEL_TARGET inline __m512i row_of_lane(const TileLayout& tile) {
  if constexpr (!permute) return _mm512_setzero_si512();
  alignas(64) std::int32_t rows[kVectorLanes];
  for (std::size_t lane = 0; lane < kVectorLanes; ++lane) rows[lane] = static_cast<std::int32_t>(lane / tile.block_out);
  return _mm512_load_si512(rows);
}

template <int fixed_groups, bool permute, bool overwrite>
DOVETAIL_KERNEL_TARGET __attribute__((noinline)) void run_loops(const GemmArguments& arguments) {
  const TileLayout& tile = arguments.layout;
  const __m512i rows = row_of_lane<permute>(tile);
  const bool exchange = !overwrite && !weights_stay(arguments) && weights_stay(exchange_loops(arguments));
  const GemmArguments a = exchange ? exchange_loops(arguments) : arguments;
  const bool blocks = !overwrite && weights_stay(a);
  for (std::size_t y = 0; y < a.iter_out; ++y)
    for (std::size_t v = 0; v < tile.vectors(); ++v) {
      const std::size_t lane = v * kVectorLanes;
      const Slice slice{.acc = lane, .row = lane / tile.block_out, .wgt = permute ? 0 : lane % tile.block_out};
      std::size_t x = 0;
      if (blocks) {
        for (; x + 8 <= a.iter_in; x += 8) run_block<fixed_groups, permute, overwrite, 8>(a, y, x, slice, rows);
        for (; x + 2 <= a.iter_in; x += 2) run_block<fixed_groups, permute, overwrite, 2>(a, y, x, slice, rows);
      }
      for (; x < a.iter_in; ++x) run_block<fixed_groups, permute, overwrite, 1>(a, y, x, slice, rows);
    }
}

// A single step skips the setup of the loops.
template <int fixed_groups, bool permute, bool overwrite>
DOVETAIL_KERNEL_TARGET void gemm_kernel(const GemmArguments& a) {
  if (a.uops.count == 1 && a.iter_out == 1 && a.iter_in == 1 && a.layout.vectors() == 1)
    return run_block<fixed_groups, permute, overwrite, 1>(a, 0, 0, {}, row_of_lane<permute>(a.layout));
  run_loops<fixed_groups, permute, overwrite>(a);
}

template <bool overwrite>
GemmKernel choose_kernel(const TileLayout& layout) {
  // With fewer than 16 outputs and several batch rows, a vector spans rows.
  if (layout.block_out < kVectorLanes && layout.batch > 1) return gemm_kernel<0, true, overwrite>;
  switch (layout.groups()) {
    case 2: return gemm_kernel<2, false, overwrite>;
    case 4: return gemm_kernel<4, false, overwrite>;
    case 8: return gemm_kernel<8, false, overwrite>;
    default: return gemm_kernel<0, false, overwrite>;
  }
}

}  // namespace

Kernels avx512vnni_kernels(const TileLayout& layout) {
  Kernels kernels;
  kernels.group_depth = 4;
  TileLayout quads = layout;
  quads.group_depth = kernels.group_depth;
  kernels.accumulate = choose_kernel<false>(quads);
  kernels.overwrite = choose_kernel<true>(quads);
  add_lane_loops(kernels);
  return kernels;
}

}  // namespace dovetail::simulator

#endif

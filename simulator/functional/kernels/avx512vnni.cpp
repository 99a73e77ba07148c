// 512-bit vectors: a vector of ACC, sixteen int32 lanes, takes four products per lane and instruction.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#include "isa/semantics/alu.h"
#include "simulator/functional/kernels/kernels.h"

#define DOVETAIL_KERNEL_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")))

namespace dovetail::simulator {
namespace {

#include "simulator/functional/kernels/lane_loops.inc"

// The words of input group `g` that the lanes of one ACC vector multiply by: of one batch row, or of several (`permute`).
template <bool permute>
DOVETAIL_KERNEL_TARGET inline __m512i inputs(const std::uint32_t* words, __m512i row_of_lane) {
  if constexpr (permute) return _mm512_maskz_permutexvar_epi32(0xffff, row_of_lane, _mm512_loadu_si512(words));
  return _mm512_set1_epi32(static_cast<int>(*words));
}

// inp . wgt^T for one ACC vector. Two chains, since vpdpbusd takes longer than it blocks its port.
template <int fixed_groups, bool permute>
DOVETAIL_KERNEL_TARGET inline __m512i dot(const std::uint32_t* inp, std::size_t inp_stride, const std::int32_t* compensation,
                                          const std::uint32_t* wgt, std::size_t wgt_stride, std::size_t run_time_groups,
                                          __m512i row_of_lane) {
  const std::size_t groups = fixed_groups != 0 ? static_cast<std::size_t>(fixed_groups) : run_time_groups;
  __m512i even = inputs<permute>(reinterpret_cast<const std::uint32_t*>(compensation), row_of_lane);
  __m512i odd = _mm512_setzero_si512();
  std::size_t g = 0;
#pragma GCC unroll 8
  for (; g + 2 <= groups; g += 2) {
    even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(wgt + g * wgt_stride), inputs<permute>(inp + g * inp_stride, row_of_lane));
    odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(wgt + (g + 1) * wgt_stride),
                              inputs<permute>(inp + (g + 1) * inp_stride, row_of_lane));
  }
  if (g < groups)
    even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(wgt + g * wgt_stride), inputs<permute>(inp + g * inp_stride, row_of_lane));
  return _mm512_add_epi32(even, odd);
}

// Batch 1 and at most 16 outputs. The destination stays in its register while micro-ops repeat it, so that a run of them waits for one
// addition each instead of a store and a load.
template <int fixed_groups, bool overwrite>
DOVETAIL_KERNEL_TARGET void gemm_one_vector(const GemmArguments& a) {
  const std::size_t groups = a.layout.groups();
  const std::size_t inp_words = fixed_groups != 0 ? fixed_groups : groups;
  std::int32_t* held_at = nullptr;
  __m512i held = _mm512_setzero_si512();
  for (std::size_t y = 0; y < a.iter_out; ++y)
    for (std::size_t x = 0; x < a.iter_in; ++x) {
      std::int32_t* acc = a.acc + (y * a.dst.out + x * a.dst.in) * kVectorLanes;
      const std::size_t src = y * a.src.out + x * a.src.in;
      const std::uint32_t* wgt = a.wgt + (y * a.wgt_factors.out + x * a.wgt_factors.in) * inp_words * kVectorLanes;
      for (std::size_t k = 0; k < a.uops.count; ++k) {
        const std::size_t input = src + a.uops.src[k];
        const __m512i sum = dot<fixed_groups, false>(a.inp + input * inp_words, 1, a.compensation + input,
                                                     wgt + a.uops.wgt[k] * inp_words * kVectorLanes, kVectorLanes, groups, held);
        std::int32_t* at = acc + a.uops.dst[k] * kVectorLanes;
        if (at != held_at) {
          if (held_at != nullptr) _mm512_storeu_si512(held_at, held);
          held_at = at;
          if constexpr (!overwrite) held = _mm512_loadu_si512(at);
        }
        held = overwrite ? sum : _mm512_add_epi32(held, sum);
      }
    }
  if (held_at != nullptr) _mm512_storeu_si512(held_at, held);
}

// Any shape. `permute`: fewer than 16 outputs, so that a vector spans several batch rows; else it lies within one.
template <int fixed_groups, bool permute, bool overwrite>
DOVETAIL_KERNEL_TARGET void gemm_many_vectors(const GemmArguments& a) {
  const TileLayout& tile = a.layout;
  const std::size_t groups = tile.groups(), batch = tile.batch, vectors = tile.vectors(), wgt_lanes = tile.wgt_lanes();
  const std::size_t acc_words = tile.acc_words(), inp_words = tile.inp_words(), wgt_words = tile.wgt_words();
  const std::size_t vectors_per_row = permute ? 1 : tile.block_out / kVectorLanes;
  const std::size_t rows_per_vector = permute ? kVectorLanes / tile.block_out : 1;
  alignas(64) std::int32_t rows[kVectorLanes];
  for (std::size_t lane = 0; lane < kVectorLanes; ++lane) rows[lane] = static_cast<std::int32_t>(lane / tile.block_out);
  const __m512i row_of_lane = _mm512_load_si512(rows);

  for (std::size_t y = 0; y < a.iter_out; ++y)
    for (std::size_t x = 0; x < a.iter_in; ++x)
      for (std::size_t k = 0; k < a.uops.count; ++k) {
        const std::size_t input = a.uops.src[k] + y * a.src.out + x * a.src.in;
        const std::uint32_t* wgt = a.wgt + (a.uops.wgt[k] + y * a.wgt_factors.out + x * a.wgt_factors.in) * wgt_words;
        std::int32_t* acc = a.acc + (a.uops.dst[k] + y * a.dst.out + x * a.dst.in) * acc_words;
        for (std::size_t v = 0; v < vectors; v += vectors_per_row) {
          const std::size_t row = v / vectors_per_row * rows_per_vector;
          const std::uint32_t* inp = a.inp + input * inp_words + row;
          const std::int32_t* compensation = a.compensation + input * batch + row;
          for (std::size_t column = 0; column < vectors_per_row; ++column) {
            const __m512i sum = dot<fixed_groups, permute>(inp, batch, compensation, wgt + column * kVectorLanes, wgt_lanes, groups,
                                                           row_of_lane);
            std::int32_t* at = acc + (v + column) * kVectorLanes;
            _mm512_storeu_si512(at, overwrite ? sum : _mm512_add_epi32(_mm512_loadu_si512(at), sum));
          }
        }
      }
}

template <int fixed_groups, bool overwrite>
GemmKernel gemm_kernel(const TileLayout& layout) {
  if (layout.batch == 1 && layout.vectors() == 1) return gemm_one_vector<fixed_groups, overwrite>;
  if (layout.block_out < kVectorLanes) return gemm_many_vectors<fixed_groups, true, overwrite>;
  return gemm_many_vectors<fixed_groups, false, overwrite>;
}

template <bool overwrite>
GemmKernel gemm_kernel(const TileLayout& layout) {
  switch (layout.groups()) {
    case 1: return gemm_kernel<1, overwrite>(layout);
    case 2: return gemm_kernel<2, overwrite>(layout);
    case 4: return gemm_kernel<4, overwrite>(layout);
    case 8: return gemm_kernel<8, overwrite>(layout);
    default: return gemm_kernel<0, overwrite>(layout);
  }
}

}  // namespace

Kernels avx512vnni_kernels(const TileLayout& layout) {
  Kernels kernels;
  kernels.group_depth = 4;
  TileLayout quads = layout;
  quads.group_depth = kernels.group_depth;
  kernels.accumulate = gemm_kernel<false>(quads);
  kernels.overwrite = gemm_kernel<true>(quads);
  add_lane_loops(kernels);
  return kernels;
}

}  // namespace dovetail::simulator

#endif

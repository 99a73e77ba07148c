// 256-bit vectors: pmaddwd multiplies pairs of 16-bit values, so one instruction adds two products to each of eight
// int32 lanes (half a vector of ACC).
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "isa/semantics/alu.h"
#include "isa/semantics/epilogue.h"
#include "simulator/functional/kernels/kernels.h"

#define DOVETAIL_KERNEL_TARGET __attribute__((target("avx2")))

namespace dovetail::simulator {
namespace {

#include "simulator/functional/kernels/lane_loops.inc"

constexpr std::size_t kHalfLanes = kVectorLanes / 2;

// The words of one input group for eight lanes: from one batch row, or from several (`permute`).
template <bool permute>
DOVETAIL_KERNEL_TARGET inline __m256i inputs(const std::uint32_t* words, __m256i row_of_lane) {
  if constexpr (permute)
    return _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)), row_of_lane);
  return _mm256_set1_epi32(static_cast<int>(*words));
}

DOVETAIL_KERNEL_TARGET inline __m256i load(const void* at) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

template <bool permute, bool overwrite>
DOVETAIL_KERNEL_TARGET void gemm_kernel(const GemmArguments& a) {
  const TileLayout& tile = a.layout;
  const std::size_t groups = tile.groups(), batch = tile.batch, vectors = tile.vectors(), wgt_lanes = tile.wgt_lanes();
  const std::size_t acc_words = tile.acc_words(), inp_words = tile.inp_words(), wgt_words = tile.wgt_words();
  const std::size_t block_out = tile.block_out;
  alignas(32) std::int32_t rows[kHalfLanes];
  for (std::size_t lane = 0; lane < kHalfLanes; ++lane) rows[lane] = static_cast<std::int32_t>(lane / block_out);
  const __m256i row_of_lane = load(rows);

  for (std::size_t y = 0; y < a.iter_out; ++y)
    for (std::size_t x = 0; x < a.iter_in; ++x)
      for (std::size_t k = 0; k < a.uops.count; ++k) {
        const std::uint32_t* inp = a.inp + (a.uops.src[k] + y * a.src.out + x * a.src.in) * inp_words;
        const std::uint32_t* wgt = a.wgt + (a.uops.wgt[k] + y * a.wgt_factors.out + x * a.wgt_factors.in) * wgt_words;
        std::int32_t* acc = a.acc + (a.uops.dst[k] + y * a.dst.out + x * a.dst.in) * acc_words;
        for (std::size_t v = 0; v < vectors; ++v) {
          // Batch rows of the two halves, and the output at which the vector starts; lanes beyond the element compute
          // values that are not used.
          const std::size_t low_row = v * kVectorLanes / block_out,
                            high_row = (v * kVectorLanes + kHalfLanes) / block_out;
          const std::uint32_t* column = wgt + (permute ? 0 : v * kVectorLanes % block_out);
          __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
          for (std::size_t g = 0; g < groups; ++g) {
            const std::uint32_t* words = inp + g * batch;
            const std::uint32_t* weights = column + g * wgt_lanes;
            low =
                _mm256_add_epi32(low, _mm256_madd_epi16(load(weights), inputs<permute>(words + low_row, row_of_lane)));
            high = _mm256_add_epi32(
                high, _mm256_madd_epi16(load(weights + kHalfLanes), inputs<permute>(words + high_row, row_of_lane)));
          }
          auto* at = reinterpret_cast<__m256i*>(acc + v * kVectorLanes);
          _mm256_storeu_si256(at, overwrite ? low : _mm256_add_epi32(load(at), low));
          _mm256_storeu_si256(at + 1, overwrite ? high : _mm256_add_epi32(load(at + 1), high));
        }
      }
}

}  // namespace

Kernels avx2_kernels(const TileLayout& layout) {
  Kernels kernels;
  kernels.group_depth = 2;
  // With 8 outputs a half vector is within one row, so a broadcast suffices.
  const bool permute = layout.block_out < kHalfLanes;
  kernels.accumulate = permute ? gemm_kernel<true, false> : gemm_kernel<false, false>;
  kernels.overwrite = permute ? gemm_kernel<true, true> : gemm_kernel<false, true>;
  add_lane_loops(kernels);
  return kernels;
}

}  // namespace dovetail::simulator

#endif

// Weights of 2, 4 or 8 bits that stay packed in memory: the operand of dovetail.packed_gemm.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ndarray.h"

namespace dovetail::ops {

// The numbers that describe packed weights of `depth` rows (K) and `columns` columns (N).
struct PackedShape {
  std::int64_t depth, columns, bits, block;

  std::int64_t blocks() const { return (depth + block - 1) / block; }
  std::int64_t steps_per_word() const { return 32 / bits; }
  // Words of a column, whose last block is complete.
  std::int64_t words() const { return (blocks() * block + steps_per_word() - 1) / steps_per_word(); }
};

// w[k, n] = (step - zero point) * scale. A column of steps fills words of 32 bits: step k has bits
// k % (32 / bits) * bits and above of word k // (32 / bits), as a two's complement number.
struct PackedWeights {
  PackedShape shape;
  NdArray words;                       // int32 [N, words]
  NdArray scales;                      // float32 [N, blocks]
  std::optional<NdArray> zero_points;  // int8 or float32 [N, blocks]; none: all are zero

  PackedWeights(const PackedShape& packed, NdArray scales_, std::optional<NdArray> zero_points_);
  // Precondition: 0 <= k < depth, and `step` has at most `bits` bits.
  void set_step(std::int64_t k, std::int64_t n, std::int64_t step);
};

// The range of steps: from -2^(bits - 1) to 2^(bits - 1) - 1.
constexpr std::int64_t least_step(std::int64_t bits) { return -(std::int64_t{1} << (bits - 1)); }
constexpr std::int64_t greatest_step(std::int64_t bits) { return (std::int64_t{1} << (bits - 1)) - 1; }

}  // namespace dovetail::ops

// Softmax and normalizations along the channels (extension `norm`): dovetail.qsoftmax and dovetail.qnormalize, bit for
// bit (docs/reference/quantization.md). A row is the channels of one pixel; the numbers that a row has once are in all
// lanes of one element of ACC.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ndarray.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/layout.h"
#include "compiler/target/accel/programs/programs.h"
#include "loops/ir.h"

namespace dovetail::accel {

// Which elements of a row do not count: parameter M, in the layout mask_layout().
enum class SoftmaxMask : std::uint8_t {
  none,      // all count
  constant,  // softmax_mask; at least one of a row counts
  computed   // an input of 1 and 0
};
struct SoftmaxSpec {
  std::string name;
  TensorLayout x, y;
  SoftmaxMask mask = SoftmaxMask::none;
  std::int64_t groups = 1;  // of the rows of a matrix, which have the same mask
  Widening widening = Widening::load;
  int shift = 0;
  OutputRange range;
  bool saturate = false;  // the store clamps to [-128, 127] itself

  bool pads() const { return x.c != x.padded_c(); }
  // Parameter K, for padded channels; a constant mask hides them.
  bool has_constants() const { return pads() && mask != SoftmaxMask::constant; }
  TensorLayout mask_layout() const {
    TensorLayout mask = x;
    mask.border = {};
    mask.w /= groups;
    mask.rows /= groups;
    return mask;
  }
};
// Parameters X, [M,] [I,] [K,] KR, T, Y.
loops::Program softmax_program(const SoftmaxSpec& spec, const Core& config);
// The number in M for an element that counts, or not.
constexpr std::int8_t softmax_mask(bool counts) { return counts ? INT8_MAX : INT8_MIN; }
// K: int32 [batch, channels, 2], from which channel `visible` on hidden. KR: int32 [batch, block_out, 2]. T: uint16
// [1, 256], from 256 entries by the distance from the maximum.
NdArray softmax_constants(const Core& config, std::int64_t channels, std::int64_t visible);
NdArray softmax_row_constants(const Core& config, float scale);
NdArray softmax_table(std::span<const std::uint16_t> exponentials);

struct NormalizationSpec {
  std::string name;
  TensorLayout x, y;
  Widening widening = Widening::load;
  bool centers = false;  // LayerNormalization; else RMSNormalization
  std::int32_t x_zero_point = 0;
  std::int64_t parts = 1, epsilon = 0;
  int bits = 0, shift = 0;
  OutputRange range;
  bool saturate = false;

  bool pads() const { return x.c != x.padded_c(); }
  std::int64_t words() const { return pads() ? 5 : 4; }  // of K, for each channel
  // Whether GEMM sums the channels: parameter IS, ones.
  bool sums_by_gemm() const { return centers && widening == Widening::gemm && !pads(); }
};
// Parameters X, [I,] [IS,] K, KR, Y.
loops::Program normalization_program(const NormalizationSpec& spec, const Core& config);
// K: int32 [batch, channels, words]; KR: int32 [batch, block_out, 5]. `scale` and `bias` have one value or one for each
// channel. Precondition: the layouts are chosen.
NdArray normalization_constants(const NormalizationSpec& spec, const Core& config, std::span<const float> scale,
                                std::span<const std::int32_t> bias);
NdArray normalization_row_constants(const NormalizationSpec& spec, const Core& config);

// Blocks of an operation of rows (RMAX, RADD, RECIP, RSQRT), and those that a serial unit computes, with its cycles for
// a row of lanes (0: none).
bool is_of_lanes(std::string_view block);
std::int64_t serial_cycles(std::string_view block);

}  // namespace dovetail::accel

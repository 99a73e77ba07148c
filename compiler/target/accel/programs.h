// The accelerator's form of each operator as a naive loop program: channels padded to blocks, zero points folded into biases, the epilogue as a
// chain of in-place ALU stages. Schedules (schedules.h) tile and tensorize these; lowering turns the result into instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "compiler/target/accel/layout.h"
#include "isa/config.h"
#include "loops/ir.h"

namespace dovetail::accel {

// What happens to an int32 accumulator on its way to int8: y = clamp(requantize(acc + bias, scale, zero_point), y_min, y_max).
struct Epilogue {
  std::int32_t zero_point = 0;
  std::int32_t y_min = -128, y_max = 127;
  // Two forms. `requant`: one ALU pass, any scale. Else every scale is 2^-s with 0 <= s <= 30, rounded half to even by shifts:
  //   a = acc + bias + 2^s;  t = (a << (31 - s)) >> 31 (0 or -1: minus bit s of a);  y = (a + t - 2^(s-1)) >> s
  // Bit s of a is the inverted lowest bit of the quotient, so ties go to the even neighbour. s = 0 skips it.
  bool requant = true;
  bool saturate = false;      // the store clamps to [-128, 127] itself
  bool rounds = true;         // some s > 0; only without `requant`
  // Words of the constant operand per channel, in the order of the passes that use them.
  std::int64_t words() const { return requant ? 2 : rounds ? 4 : 1; }
};

// The constant operand `K`, int32 [batch, channels, words]: with `requant` the scale's bits and the bias; else bias + 2^s (bias where nothing rounds),
// s - 31, -2^(s-1), s. Precondition: without `requant`, scales are powers of two in range (is_shift_scale).
NdArray epilogue_constants(const Epilogue& epilogue, std::int64_t batch, std::int64_t channels, std::span<const std::int32_t> bias,
                           std::span<const float> scale);
// s where scale == 2^-s exactly, 0 <= s <= 30.
std::optional<int> shift_of_scale(float scale);

struct ConvSpec {
  std::string name;
  TensorLayout x, y;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  bool pads_in_load = false;  // zero pads made by LOAD; else the border of x holds them
  Epilogue epilogue;
};
// Parameters X int8 [n, c, h, w] (program shape), W int8 [o, c, ky, kx] (padded), K int32 [batch, o, words], Y int8 (program shape; only the interior is
// written). Blocks: [pad], conv, epilogue stages, out.
loops::Program conv_program(const ConvSpec& spec, const isa::HardwareConfig& config);

struct AddSpec {
  std::string name;
  TensorLayout a, b, y;                     // equal logical extents
  std::int32_t a_shift = 0, b_shift = 0;    // without `requant`: multipliers are 2^shift, shift >= 0
  Epilogue epilogue;                        // of the sum: scale 2^-k
};
// Parameters A, B, KA, KB int32 [batch, block, 2] (requant: multiplier bits and -zero_point; else only -zero_point and 0), K, Y.
loops::Program add_program(const AddSpec& spec, const isa::HardwareConfig& config);

struct MaxPoolSpec {
  std::string name;
  TensorLayout x, y;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;
};
// Parameters X, Y. Taps outside of the image are left out.
loops::Program max_pool_program(const MaxPoolSpec& spec, const isa::HardwareConfig& config);

}  // namespace dovetail::accel

// For products of bytes: rewrites a convolution or matrix product of activations minus a zero point to a product of
// signed bytes, unsigned bytes or 16-bit words, as the processor's dot products require.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ndarray.h"
#include "loops/ir.h"

namespace dovetail::prepare {

// sum (x - zero) * w  =  sum u * w - (128 + zero) * sum w,  u = x + 128 in uint8.
struct ShiftedProgram {
  loops::Program program;
  std::string activations;  // block and buffer that hold the converted ones: "pad", if it existed, or "shifted"
  std::string weights;      // parameter
  std::int64_t offset =
      0;  // 128 + zero: the bias must be reduced by offset times the sum of an output channel's weights
};

// Rewrites block `main`, whose product must be of int8 activations less a constant and int8 weights; nullopt if it is
// not. The program's result is that of the original plus offset * sum w in the accumulator: the caller corrects the
// bias.
std::optional<ShiftedProgram> shift_activations(const loops::Program& program, const std::string& main);

// For products of words: sum (x - zero) * w  =  sum v * w,  v = x - zero in int16, which is computed once per
// activation. The same precondition; the result is the original one.
std::optional<ShiftedProgram> widen_activations(const loops::Program& program, const std::string& main);

// For products of signed bytes: sum (x - zero) * w  =  sum x * w - zero * sum w. `offset` is the zero point; only the
// product changes. nullopt if the product of block `main` is not of int8 activations less a constant and int8 weights.
std::optional<ShiftedProgram> drop_zero_point(const loops::Program& program, const std::string& main);

}  // namespace dovetail::prepare

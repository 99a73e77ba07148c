// For products of bytes: a convolution or matrix product of activations less a zero point made one of bytes alone, of
// unsigned ones where the processor's dot products ask for these.
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
  std::string activations;  // block and buffer that hold u: "pad", which was there, or "shifted"
  std::string weights;      // parameter
  std::int64_t offset =
      0;  // 128 + zero: what to subtract from the bias is offset times the sum of an output channel's weights
};

// Rewrites block `main`, whose product must be of int8 activations less a constant and int8 weights; nullopt where it
// is not. The result of the program is that of the original plus offset * sum w in the accumulator: the caller corrects
// the bias.
std::optional<ShiftedProgram> shift_activations(const loops::Program& program, const std::string& main);

// For products of signed bytes: sum (x - zero) * w  =  sum x * w - zero * sum w. `offset` is the zero point; nothing
// but the product changes. nullopt where block `main` has none of int8 activations less a constant and int8 weights.
std::optional<ShiftedProgram> drop_zero_point(const loops::Program& program, const std::string& main);

}  // namespace dovetail::prepare

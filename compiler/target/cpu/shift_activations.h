// For the dot products of unsigned and signed bytes: a convolution or matrix product of signed activations made one of
// unsigned ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ndarray.h"
#include "loops/ir.h"

namespace dovetail::cpu {

// sum (x - zero) * w  =  sum u * w - (128 + zero) * sum w,  u = x + 128 in uint8.
struct ShiftedProgram {
  loops::Program program;
  std::string activations;  // block and buffer that hold u: "pad", which was there, or "shifted"
  std::string weights;      // parameter
  std::int64_t offset =
      0;  // 128 + zero: what to subtract from the bias is offset times the sum of an output channel's weights
  Shape weights_shape;  // larger than before in dimension 1 where channels were added, for which the weights are 0
};

// Rewrites block `main`, whose product must be of int8 activations less a constant and int8 weights; nullopt where it
// is not. The result of the program is that of the original plus offset * sum w in the accumulator: the caller corrects
// the bias. Of a convolution over channels that are no multiple of `channels`, some are added; the activations' buffer
// holds zeros there.
std::optional<ShiftedProgram> shift_activations(const loops::Program& program, const std::string& main,
                                                std::int64_t channels = 1);

}  // namespace dovetail::cpu

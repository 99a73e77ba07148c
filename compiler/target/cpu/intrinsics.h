// The CPU's tensor intrinsics as library rows; compiler/target/cpu/codegen/intrinsic_calls.cpp has the instructions.
#pragma once

#include <cstdint>

#include "compiler/target/cpu/cpu.h"
#include "loops/intrinsic.h"

namespace dovetail::cpu {

// The products that one lane of x86.vpdpbusd sums: four bytes of each operand fill a lane of int32.
inline constexpr std::int64_t kDotBytes = 4;

//   x86.vpdpbusd (D: int32[16], X: uint8[4], W: int8[16, 4])    D[o] += sum over i of X[i] * W[o, i], wrapping    with
//   AVX-512 VNNI
const loops::IntrinsicTable& intrinsics(const Cpu& cpu);

}  // namespace dovetail::cpu

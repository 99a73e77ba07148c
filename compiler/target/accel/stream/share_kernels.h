// Kernels that are part of others: GEMM and ALU name a range of micro-ops, so what one kernel holds in a row with
// another one's content serves both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/instruction.h"

namespace dovetail::accel {

struct KernelPart {
  int whole;             // the kernel that holds it: itself where it is part of no other
  std::uint64_t offset;  // in it
};
// Of each kernel; every `whole` is its own whole. Precondition: no two kernels are equal. Cost: the micro-ops of all
// kernels times the number of different sizes.
std::vector<KernelPart> share_kernels(std::span<const std::vector<isa::Uop>> kernels);

}  // namespace dovetail::accel

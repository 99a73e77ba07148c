// Finds kernels that are part of others: GEMM and ALU name a range of micro-ops, so a kernel that occurs within another
// one needs no separate copy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/instruction.h"

namespace dovetail::accel {

struct KernelPart {
  int whole;             // the kernel that contains it; itself if it is not part of another
  std::uint64_t offset;  // within that kernel
};
// The part for each kernel; every `whole` contains itself. Precondition: no two kernels are equal. Time: the micro-ops
// of all kernels times the number of different sizes.
std::vector<KernelPart> share_kernels(std::span<const std::vector<isa::Uop>> kernels);

}  // namespace dovetail::accel

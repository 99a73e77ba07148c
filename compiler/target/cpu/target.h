// The processor as a target: every operator that the code generator has arithmetic for, fused into kernels.
#pragma once

#include <memory>
#include <optional>

#include "compiler/target/cpu/cpu.h"
#include "compiler/target/target.h"

namespace dovetail::cpu {

// `processor`: empty where loop programs are to be interpreted; then every operator is taken. With `fuse` false every
// node is a kernel of its own.
TargetPointer make_target(std::optional<Cpu> processor, bool fuse);

}  // namespace dovetail::cpu

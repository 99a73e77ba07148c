// The processor as a target: every operator that the code generator has arithmetic for, fused into kernels.
#pragma once

#include <memory>
#include <optional>

#include "compiler/target/cpu/cpu.h"
#include "compiler/target/target.h"

namespace dovetail::cpu {

// `processor`: empty where loop programs are to be interpreted; then every operator is taken.
TargetPointer make_target(std::optional<Cpu> processor);
// For this machine; where it belongs to no known class, loop programs are interpreted.
TargetPointer make_native_target();

}  // namespace dovetail::cpu

// The processor as a target: every operator with arithmetic that the code generator supports, fused into kernels.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compiler/target/cpu/cpu.h"
#include "compiler/target/target.h"

namespace dovetail::cpu {

// `processor`: empty to interpret loop programs; then every operator is accepted. Precondition: it has vectors.
// `prefix`: begins the symbols of exported kernels (Cpu::is_exported).
TargetPointer make_target(std::optional<Cpu> processor, std::string prefix = "");
// For this machine; if it belongs to no known class, loop programs are interpreted.
TargetPointer make_native_target();

}  // namespace dovetail::cpu

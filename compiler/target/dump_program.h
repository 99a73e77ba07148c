// The dumps of a scheduled program: "schedule", its text, and "mlir", a module of MLIR.
#pragma once

#include "compiler/target/target.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail {

// Precondition: `dump` is not empty.
void dump_program(const Dump& dump, const loops::Program& program, const loops::IntrinsicTable& intrinsics);

}  // namespace dovetail

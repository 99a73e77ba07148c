// Loop programs that a user writes, as steps of kernels.
#pragma once

#include "base/result.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/assemble/program_compiler.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/target.h"

namespace dovetail::cuda {

// Adds the step that runs `program`: its loops are bound to blocks and threads as they are, or if none is, by the
// back end's own schedule. Errors: loops or buffers that kernels do not have; NVRTC is missing.
Result<void> add_program(HostProgram program, const Gpu& gpu, BundleBuilder& builder, const Dump& dump);

}  // namespace dovetail::cuda

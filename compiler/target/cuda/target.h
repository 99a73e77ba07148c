// The CUDA target (docs/explanation/cuda-backend.md): nodes form groups, and each group is a step of one or more
// kernels.
#pragma once

#include "base/result.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/target.h"

namespace dovetail::cuda {

// Code is compiled when steps are generated; NVRTC is searched then (nvrtc.h).
TargetPointer make_target(Gpu gpu);

}  // namespace dovetail::cuda

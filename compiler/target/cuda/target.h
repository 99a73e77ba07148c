// The CUDA target (docs/explanation/cuda-backend.md): nodes form groups, each a step of one or more kernels.
#pragma once

#include "base/result.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/target.h"

namespace dovetail::cuda {

// Code is compiled when steps are generated, which is when NVRTC is looked for (nvrtc.h).
TargetPointer make_target(Gpu gpu);

}  // namespace dovetail::cuda

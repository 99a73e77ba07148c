// cuBLAS on NVIDIA GPUs: matrix products, as operations of a library that the runtime loads if it is installed.
// docs/explanation/vendor-backends.md
#pragma once

#include "compiler/target/target.h"

namespace dovetail::cublas {

// `tf32`: float32 factors may be rounded to TF32's 11 bits, as with cuda::Gpu::tf32.
TargetPointer make_target(bool tf32 = false);

}  // namespace dovetail::cublas

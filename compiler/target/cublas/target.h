// cuBLAS on NVIDIA GPUs: products of matrices, as operations of a library that the runtime opens where it is there.
// docs/explanation/vendor-backends.md
#pragma once

#include "compiler/target/target.h"

namespace dovetail::cublas {

// `tf32`: factors of float32 may be rounded to TF32's 11 bits, as cuda::Gpu::tf32 allows it.
TargetPointer make_target(bool tf32 = false);

}  // namespace dovetail::cublas

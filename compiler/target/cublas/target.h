// cuBLAS on NVIDIA GPUs: products of matrices, as operations of a library that the runtime opens where it is there.
// docs/vendor-backends.md
#pragma once

#include "compiler/target/target.h"

namespace dovetail::cublas {

TargetPointer make_target();

}  // namespace dovetail::cublas

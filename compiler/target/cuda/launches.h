// Converts a program's kernels to the form stored in the bundle.
#pragma once

#include <vector>

#include "bundle/code/cuda.h"
#include "compiler/target/cuda/codegen/source.h"

namespace dovetail::cuda {

std::vector<bundle::CudaLaunch> launches_of(const Source& source);

}  // namespace dovetail::cuda

// Steps of target cublas: products of matrices as calls of cuBLASLt.
#pragma once

#include <memory>

#include "bundle/code/library.h"
#include "runtime/device/cublas/library.h"
#include "runtime/device/cuda/stream_work.h"

namespace dovetail::runtime::cublas {

// cuBLAS is column-major, tensors are row-major: a x b in row-major order is b' x a' in column-major order, so cuBLAS's
// A is the operand b. Sums of 16-bit floats are float32, and float32 is never rounded to TF32. Error: cuBLAS has no
// algorithm for a product.
Result<std::unique_ptr<cuda::StreamWork>> make_products(std::shared_ptr<cuda::Context> context,
                                                        std::shared_ptr<const Library> library,
                                                        const bundle::Bundle& bundle,
                                                        const bundle::CodedStep<bundle::LibraryCode>& step);

}  // namespace dovetail::runtime::cublas

// Steps of target cublas: products of matrices as calls of cuBLASLt.
#pragma once

#include <memory>

#include "bundle/code/library.h"
#include "runtime/device/cublas/library.h"
#include "runtime/device/cuda/stream_work.h"

namespace dovetail::runtime::cublas {

// The library is column-major, tensors are row-major: a x b in rows is b' x a' in columns, so the library's A is our b.
// Sums of 16-bit floats are float32, and float32 is never rounded to TF32. Error: the library has no algorithm for a
// product.
Result<std::unique_ptr<cuda::StreamWork>> make_products(std::shared_ptr<cuda::Context> context,
                                                        std::shared_ptr<const Library> library,
                                                        const bundle::Bundle& bundle,
                                                        const bundle::CodedStep<bundle::LibraryCode>& step);

}  // namespace dovetail::runtime::cublas

// Steps of target cudnn: convolutions, pools and softmax as calls of cuDNN.
#pragma once

#include <memory>

#include "bundle/code/library.h"
#include "runtime/device/cuda/stream_work.h"
#include "runtime/device/cudnn/library.h"

namespace dovetail::runtime::cudnn {

// Tensors of one spatial axis get a second one, of extent 1. Sums of 16-bit floats are float32, and float32 is
// multiplied only by multiply-adds, never rounded to TF32. Error: cuDNN rejects an operation, or would compute another
// shape.
Result<std::unique_ptr<cuda::StreamWork>> make_operations(std::shared_ptr<cuda::Context> context,
                                                          std::shared_ptr<const Library> library,
                                                          const bundle::Bundle& bundle,
                                                          const bundle::CodedStep<bundle::LibraryCode>& step);

}  // namespace dovetail::runtime::cudnn

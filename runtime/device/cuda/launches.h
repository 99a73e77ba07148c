// The kernels of a step of target cuda.
#pragma once

#include <memory>

#include "bundle/code/cuda.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/stream_work.h"

namespace dovetail::runtime::cuda {

// `failure`: the record in which kernels report the first violated rule. The bundle outlives the result.
Result<std::unique_ptr<StreamWork>> make_launches(std::shared_ptr<Context> context, bundle::CudaCode code,
                                                  Address failure);

}  // namespace dovetail::runtime::cuda

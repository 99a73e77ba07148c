// ONNX Runtime as a contender: a Python process with ONNX Runtime, which runs the exported model on demand
// (bench/models/onnxruntime_worker.py).
#pragma once

#include <string>

#include "bench/cuda/contender.h"

namespace dovetail::bench {

struct OnnxRuntime {
  std::string python;                              // a Python with onnxruntime and numpy
  std::string provider = "CUDAExecutionProvider";  // ONNX Runtime's execution provider
};
// Error: that Python has no ONNX Runtime or no such provider, or it does not support the model.
Result<Contender> make_contender(const Case& one, const OnnxRuntime& peer);

}  // namespace dovetail::bench

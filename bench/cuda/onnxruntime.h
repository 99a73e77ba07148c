// ONNX Runtime as a contender: a process of a Python that has it, which runs the exported model on demand
// (bench/models/onnxruntime_worker.py).
#pragma once

#include <string>

#include "bench/cuda/contender.h"

namespace dovetail::bench {

struct OnnxRuntime {
  std::string python;                              // that imports onnxruntime and numpy
  std::string provider = "CUDAExecutionProvider";  // its name for where it runs
};
// Error: that Python has no ONNX Runtime, or that no such provider, or the model is none for it.
Result<Contender> make_contender(const Case& one, const OnnxRuntime& peer);

}  // namespace dovetail::bench

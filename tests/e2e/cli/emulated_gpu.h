// The CUDA back end without a GPU: NVRTC, driver, cuBLAS and cuDNN of tests/emulated_gpu, for the lifetime of an
// EmulatedGpu.
#pragma once

#include <string>

#include "tests/environment.h"

namespace dovetail::test {

inline std::string emulated(const char* part) {
  return std::string(DOVETAIL_BINARY_DIR) + "/emulated_gpu/libemulated_" + part + ".so";
}
struct EmulatedGpu {
  Environment nvrtc{"DOVETAIL_NVRTC", emulated("nvrtc")}, driver{"DOVETAIL_LIBCUDA", emulated("driver")},
      cublas{"DOVETAIL_CUBLAS", emulated("cublas")}, cudnn{"DOVETAIL_CUDNN", emulated("cudnn")};
};

}  // namespace dovetail::test

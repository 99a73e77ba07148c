// cuDNN, loaded at run time when a bundle has steps for it, not linked. Declares the functions of cudnn_ops.h and
// cudnn_cnn.h that are used, with the signatures of versions 8 and 9. They belong to the older of cuDNN's two
// interfaces, which version 9 still has. Each function is one operation with all its operands; in the newer graph
// interface, the supported combinations are unknown until an engine is requested.
#pragma once

#include <cstddef>
#include <string>

#include "base/ndarray.h"
#include "base/result.h"
#include "runtime/device/cuda/vendor_library.h"

namespace dovetail::runtime::cudnn {

using Status = cuda::VendorStatus;  // cudnnStatus_t

// cudnnDataType_t, cudnnTensorFormat_t, cudnnMathType_t, cudnnConvolutionMode_t, cudnnActivationMode_t,
// cudnnNanPropagation_t, cudnnPoolingMode_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, cudnnConvolutionFwdAlgo_t.
namespace number {
inline constexpr int kFloat32 = 0, kFloat16 = 2, kBfloat16 = 9;
inline constexpr int kRows = 0;  // CUDNN_TENSOR_NCHW
inline constexpr int kDefaultMath = 0, kTensorCores = 1, kMultiplyAdds = 3;
inline constexpr int kCrossCorrelation = 1;
inline constexpr int kRelu = 1, kClippedRelu = 3;
inline constexpr int kPropagateNan = 1;
inline constexpr int kMaximum = 0, kAverageOfPads = 1, kAverage = 2;
inline constexpr int kAccurate = 1, kLogarithm = 2, kChannels = 1;
}  // namespace number

struct Performance {  // cudnnConvolutionFwdAlgoPerf_t
  int algorithm = 0;
  Status status = 0;
  float time = 0;
  std::size_t workspace_bytes = 0;
  int determinism = 0, math = 0;
  int reserved[3] = {};
};

struct Functions {
  Status (*create)(void**);
  Status (*destroy)(void*);
  std::size_t (*version)();
  const char* (*status_text)(Status);
  Status (*set_stream)(void*, cuda::StreamHandle);
  Status (*create_tensor)(void**);
  Status (*set_tensor)(void*, int type, int rank, const int* dims, const int* strides);
  Status (*destroy_tensor)(void*);
  Status (*create_filter)(void**);
  Status (*set_filter)(void*, int type, int format, int rank, const int* dims);
  Status (*destroy_filter)(void*);
  Status (*create_convolution)(void**);
  Status (*set_convolution)(void*, int axes, const int* pads, const int* strides, const int* dilations, int mode,
                            int compute);
  Status (*set_groups)(void*, int);
  Status (*set_math)(void*, int);
  Status (*destroy_convolution)(void*);
  Status (*convolution_dims)(void* convolution, void* x, void* w, int rank, int* dims);
  Status (*convolution_algorithms)(void* handle, void* x, void* w, void* convolution, void* y, int asked, int* given,
                                   Performance*);
  Status (*convolution_workspace)(void* handle, void* x, void* w, void* convolution, void* y, int algorithm,
                                  std::size_t*);
  Status (*convolve)(void* handle, const void* alpha, void* x, const void*, void* w, const void*, void* convolution,
                     int algorithm, void* workspace, std::size_t workspace_bytes, const void* beta, void* y, void*);
  Status (*convolve_with_bias)(void* handle, const void* alpha1, void* x, const void*, void* w, const void*,
                               void* convolution, int algorithm, void* workspace, std::size_t workspace_bytes,
                               const void* alpha2, void* z, const void*, void* bias, const void*, void* activation,
                               void* y, void*);
  Status (*add)(void* handle, const void* alpha, void* a, const void*, const void* beta, void* c, void*);
  Status (*create_activation)(void**);
  Status (*set_activation)(void*, int mode, int nan, double coefficient);
  Status (*destroy_activation)(void*);
  Status (*activate)(void* handle, void* activation, const void* alpha, void* x, const void*, const void* beta, void* y,
                     void*);
  Status (*create_pool)(void**);
  Status (*set_pool)(void*, int mode, int nan, int axes, const int* window, const int* pads, const int* strides);
  Status (*destroy_pool)(void*);
  Status (*pool_dims)(void* pool, void* x, int rank, int* dims);
  Status (*pool)(void* handle, void* pool, const void* alpha, void* x, const void*, const void* beta, void* y, void*);
  Status (*softmax)(void* handle, int algorithm, int mode, const void* alpha, void* x, const void*, const void* beta,
                    void* y, void*);

  static const cuda::LibraryNames& names();
  void bind_all(cuda::Binding& bind);
  std::string too_old() const;
  Status start(void** made, cuda::StreamHandle stream) const;
  static cuda::Trouble trouble_of(Status status);
};

// Loads DOVETAIL_CUDNN, libcudnn.so.9 or .8, and creates its handle on a context's stream.
using Library = cuda::VendorLibrary<Functions>;
// "9.19.0" of 91900, "8.9.7" of 8907.
std::string version_text(std::size_t version);

}  // namespace dovetail::runtime::cudnn

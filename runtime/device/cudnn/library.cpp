#include "runtime/device/cudnn/library.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace dovetail::runtime::cudnn {

namespace {

constexpr std::array<std::string_view, 2> kFiles{"libcudnn.so.9", "libcudnn.so.8"};
constexpr cuda::LibraryNames kNames{"cuDNN", "DOVETAIL_CUDNN", kFiles, "nvidia-cudnn-cu13", "cudnn", "cudnn"};
constexpr std::size_t kOldest = 8100;  // 8.1: the first version that computes with bfloat16

}  // namespace

std::string version_text(std::size_t version) {
  const std::size_t major = version >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", version / major, version % major / 100, version % 100);
}

const cuda::LibraryNames& Functions::names() { return kNames; }

void Functions::bind_all(cuda::Binding& bind) {
  bind(create, "cudnnCreate");
  bind(destroy, "cudnnDestroy");
  bind(version, "cudnnGetVersion");
  bind(status_text, "cudnnGetErrorString");
  bind(set_stream, "cudnnSetStream");
  bind(create_tensor, "cudnnCreateTensorDescriptor");
  bind(set_tensor, "cudnnSetTensorNdDescriptor");
  bind(destroy_tensor, "cudnnDestroyTensorDescriptor");
  bind(create_filter, "cudnnCreateFilterDescriptor");
  bind(set_filter, "cudnnSetFilterNdDescriptor");
  bind(destroy_filter, "cudnnDestroyFilterDescriptor");
  bind(create_convolution, "cudnnCreateConvolutionDescriptor");
  bind(set_convolution, "cudnnSetConvolutionNdDescriptor");
  bind(set_groups, "cudnnSetConvolutionGroupCount");
  bind(set_math, "cudnnSetConvolutionMathType");
  bind(destroy_convolution, "cudnnDestroyConvolutionDescriptor");
  bind(convolution_dims, "cudnnGetConvolutionNdForwardOutputDim");
  bind(convolution_algorithms, "cudnnGetConvolutionForwardAlgorithm_v7");
  bind(convolution_workspace, "cudnnGetConvolutionForwardWorkspaceSize");
  bind(convolve, "cudnnConvolutionForward");
  bind(convolve_with_bias, "cudnnConvolutionBiasActivationForward");
  bind(add, "cudnnAddTensor");
  bind(create_activation, "cudnnCreateActivationDescriptor");
  bind(set_activation, "cudnnSetActivationDescriptor");
  bind(destroy_activation, "cudnnDestroyActivationDescriptor");
  bind(activate, "cudnnActivationForward");
  bind(create_pool, "cudnnCreatePoolingDescriptor");
  bind(set_pool, "cudnnSetPoolingNdDescriptor");
  bind(destroy_pool, "cudnnDestroyPoolingDescriptor");
  bind(pool_dims, "cudnnGetPoolingNdForwardOutputDim");
  bind(pool, "cudnnPoolingForward");
  bind(softmax, "cudnnSoftmaxForward");
}

std::string Functions::too_old() const {
  if (const std::size_t value = version(); value < kOldest)
    return fmt::format("is version {}, but 8.1 or later is required", version_text(value));
  return {};
}

Status Functions::start(void** made, cuda::StreamHandle stream) const {
  const Status status = create(made);
  return status != 0 ? status : set_stream(*made, stream);
}

// Status values of version 8, then of version 9.
cuda::Trouble Functions::trouble_of(Status status) {
  switch (status) {
    case 1:
    case 1001: return cuda::Trouble::not_initialized;
    case 2:
    case 4003:  // on the host
    case 4004: return cuda::Trouble::no_memory;
    default: return cuda::Trouble::other;
  }
}

}  // namespace dovetail::runtime::cudnn

#include "runtime/device/cudnn/library.h"

#include <array>
#include <type_traits>

#include <fmt/format.h>

#include "runtime/device/cuda/find_library.h"

namespace dovetail::runtime::cudnn {

namespace {

constexpr std::array<std::string_view, 2> kFiles{"libcudnn.so.9", "libcudnn.so.8"};
constexpr cuda::LibraryNames kNames{"cuDNN", "DOVETAIL_CUDNN", kFiles, "nvidia-cudnn-cu13", "cudnn", "cudnn"};
constexpr std::size_t kOldest = 8100;  // 8.1: the first that computes with bfloat16

// What is wrong with it; empty: nothing.
std::string bind_all(const SharedLibrary& library, Functions& functions) {
  std::string missing;
  const auto bind = [&](auto& pointer, const char* symbol) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(library.find(symbol));
    if (pointer == nullptr && missing.empty()) missing = symbol;
  };
  bind(functions.create, "cudnnCreate");
  bind(functions.destroy, "cudnnDestroy");
  bind(functions.version, "cudnnGetVersion");
  bind(functions.status_text, "cudnnGetErrorString");
  bind(functions.set_stream, "cudnnSetStream");
  bind(functions.create_tensor, "cudnnCreateTensorDescriptor");
  bind(functions.set_tensor, "cudnnSetTensorNdDescriptor");
  bind(functions.destroy_tensor, "cudnnDestroyTensorDescriptor");
  bind(functions.create_filter, "cudnnCreateFilterDescriptor");
  bind(functions.set_filter, "cudnnSetFilterNdDescriptor");
  bind(functions.destroy_filter, "cudnnDestroyFilterDescriptor");
  bind(functions.create_convolution, "cudnnCreateConvolutionDescriptor");
  bind(functions.set_convolution, "cudnnSetConvolutionNdDescriptor");
  bind(functions.set_groups, "cudnnSetConvolutionGroupCount");
  bind(functions.set_math, "cudnnSetConvolutionMathType");
  bind(functions.destroy_convolution, "cudnnDestroyConvolutionDescriptor");
  bind(functions.convolution_dims, "cudnnGetConvolutionNdForwardOutputDim");
  bind(functions.convolution_algorithms, "cudnnGetConvolutionForwardAlgorithm_v7");
  bind(functions.convolution_workspace, "cudnnGetConvolutionForwardWorkspaceSize");
  bind(functions.convolve, "cudnnConvolutionForward");
  bind(functions.convolve_with_bias, "cudnnConvolutionBiasActivationForward");
  bind(functions.add, "cudnnAddTensor");
  bind(functions.create_activation, "cudnnCreateActivationDescriptor");
  bind(functions.set_activation, "cudnnSetActivationDescriptor");
  bind(functions.destroy_activation, "cudnnDestroyActivationDescriptor");
  bind(functions.activate, "cudnnActivationForward");
  bind(functions.create_pool, "cudnnCreatePoolingDescriptor");
  bind(functions.set_pool, "cudnnSetPoolingNdDescriptor");
  bind(functions.destroy_pool, "cudnnDestroyPoolingDescriptor");
  bind(functions.pool_dims, "cudnnGetPoolingNdForwardOutputDim");
  bind(functions.pool, "cudnnPoolingForward");
  bind(functions.softmax, "cudnnSoftmaxForward");
  if (!missing.empty()) return "has no function " + missing;
  if (const std::size_t version = functions.version(); version < kOldest)
    return fmt::format("is version {}, 8.1 and later are taken", version_text(version));
  return {};
}

}  // namespace

std::string version_text(std::size_t version) {
  const std::size_t major = version >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", version / major, version % major / 100, version % 100);
}

Result<std::shared_ptr<const Functions>> Library::find(std::string* path) {
  auto functions = std::make_shared<Functions>();
  DOVETAIL_ASSIGN(const std::string found, cuda::find_library(kNames, [&](const SharedLibrary& library) {
                    return bind_all(library, *functions);
                  }));
  if (path != nullptr) *path = found;
  return std::shared_ptr<const Functions>(std::move(functions));
}

Result<std::shared_ptr<const Library>> Library::open(std::shared_ptr<cuda::Context> context) {
  std::shared_ptr<Library> library(new Library);
  DOVETAIL_ASSIGN(library->functions_, find());
  library->context_ = std::move(context);
  DOVETAIL_TRY(library->check(library->functions_->create(&library->handle_), "starting the library"));
  DOVETAIL_TRY(library->check(library->functions_->set_stream(library->handle_, library->context_->stream()),
                              "choosing the stream"));
  return std::shared_ptr<const Library>(std::move(library));
}

Library::~Library() {
  if (handle_ != nullptr && context_->make_current().ok()) functions_->destroy(handle_);
}

Result<void> Library::check(Status status, std::string_view action) const {
  if (status == 0) return {};
  constexpr Status kNotInitialised8 = 1, kNotInitialised9 = 1001, kNoMemory8 = 2, kNoMemoryOfHost9 = 4003,
                   kNoMemory9 = 4004;
  const char* const text = functions_->status_text(status);
  Diagnostic problem{"cuDNN refuses", std::string(action),
                     fmt::format("{} ({})", text == nullptr ? "an unknown error" : text, status),
                     "leave cudnn out of --target, and report this with `dovetail doctor`"};
  if (status == kNotInitialised8 || status == kNotInitialised9)
    problem.hint = "look at `nvidia-smi`: the driver may be older than the library needs";
  if (status == kNoMemory8 || status == kNoMemoryOfHost9 || status == kNoMemory9) {
    problem.hint = "close what else uses the device, or run fewer samples at once";
    problem.cause = Cause::resource;
  }
  return problem;
}

}  // namespace dovetail::runtime::cudnn

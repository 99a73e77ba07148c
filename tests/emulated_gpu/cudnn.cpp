// cuDNN's functions, as far as the kit calls them, computing by their definition on the emulated GPU's memory: y =
// alpha f(x) + beta y. Arguments that the library refuses are refused.
//
//   EMULATED_CUDNN_STATUS    the status that a convolution returns instead of being computed
//   EMULATED_CUDNN_VERSION
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "tests/emulated_gpu/library.h"

namespace {

using emulated_gpu::Driver;
using emulated_gpu::Element;

constexpr int kSuccess = 0, kNotInitialized = 1001, kBadParameter = 2000, kNotSupported = 3000, kFailed = 5000;
constexpr int kMultiplyAdds = 3, kImplicitPrecomputed = 1;
constexpr std::size_t kWorkspace = 1024;

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

struct Handle {
  void* stream = nullptr;
};
struct Tensor {
  Element type = Element::float32;
  std::vector<std::int64_t> dims, strides;
  // Extents of n, c, d, h, w.
  std::array<std::int64_t, 5> five() const {
    std::array<std::int64_t, 5> list{dims[0], dims[1], 1, 1, 1};
    std::copy(dims.begin() + 2, dims.end(), list.end() - static_cast<std::ptrdiff_t>(dims.size() - 2));
    return list;
  }
  std::int64_t count() const {
    std::int64_t all = 1;
    for (const std::int64_t dim : dims) all *= dim;
    return all;
  }
  bool is_packed() const {
    std::int64_t stride = 1;
    for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i])
      if (strides[i] != stride) return false;
    return true;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * emulated_gpu::bytes_of(type); }
};
struct Windows {
  std::vector<std::int64_t> kernel, pads, strides, dilations;
};
struct Convolution {
  Windows windows;
  int groups = 1, math = 0;
};
struct Pool {
  Windows windows;
  int mode = 0;
};
struct Activation {
  int mode = 5;
  double coefficient = 0;
};
struct Performance {
  int algorithm, status;
  float time;
  std::size_t workspace;
  int determinism, math;
  int reserved[3];
};

bool element_of(int type, Element& element) {
  if (type == 0) element = Element::float32;
  else if (type == 2) element = Element::float16;
  else if (type == 9) element = Element::bfloat16;
  else return false;
  return true;
}

// Extends a spatial list with leading axes of extent 1.
std::array<std::int64_t, 3> three(const std::vector<std::int64_t>& list, std::int64_t fill) {
  std::array<std::int64_t, 3> all{fill, fill, fill};
  std::copy(list.begin(), list.end(), all.end() - static_cast<std::ptrdiff_t>(list.size()));
  return all;
}

bool output_dims(const Windows& windows, const std::vector<std::int64_t>& x, std::vector<std::int64_t>& y) {
  if (x.size() != windows.pads.size() + 2 || windows.kernel.size() != windows.pads.size()) return false;
  for (std::size_t i = 0; i < windows.pads.size(); ++i) {
    const std::int64_t room = x[i + 2] + 2 * windows.pads[i] - ((windows.kernel[i] - 1) * windows.dilations[i] + 1);
    if (room < 0) return false;
    y[i + 2] = room / windows.strides[i] + 1;
  }
  return true;
}

// Computes the library's shape of a result; false where the operands do not fit.
bool convolution_dims(const Convolution& convolution, const Tensor& x, const Tensor& w, std::vector<std::int64_t>& y) {
  if (x.dims.size() != w.dims.size() || x.type != w.type || w.dims[0] % convolution.groups != 0 ||
      x.dims[1] != w.dims[1] * convolution.groups)
    return false;
  y = {x.dims[0], w.dims[0]};
  y.resize(x.dims.size());
  Windows windows = convolution.windows;
  windows.kernel.assign(w.dims.begin() + 2, w.dims.end());
  return output_dims(windows, x.dims, y);
}

double scalar(const void* value) { return static_cast<double>(emulated_gpu::read<float>(value, 0)); }

template <typename Visit>
void for_each_window(const std::array<std::int64_t, 5>& x, const std::array<std::int64_t, 5>& y, const Windows& windows,
                     const Visit& visit) {
  const auto kernel = three(windows.kernel, 1), strides = three(windows.strides, 1),
             dilations = three(windows.dilations, 1);
  auto pads = three(windows.pads, 0);
  if (emulated_gpu::is_planted("pad side"))
    for (std::int64_t& pad : pads) pad = std::max<std::int64_t>(0, pad - 1);
  std::array<std::int64_t, 3> at{}, tap{};
  for (at[0] = 0; at[0] < y[2]; ++at[0])
    for (at[1] = 0; at[1] < y[3]; ++at[1])
      for (at[2] = 0; at[2] < y[4]; ++at[2]) {
        std::vector<std::pair<std::int64_t, std::int64_t>> taps;  // pairs of offsets in an image and in a kernel
        for (tap[0] = 0; tap[0] < kernel[0]; ++tap[0])
          for (tap[1] = 0; tap[1] < kernel[1]; ++tap[1])
            for (tap[2] = 0; tap[2] < kernel[2]; ++tap[2]) {
              std::int64_t place = 0;
              bool inside = true;
              for (std::size_t i = 0; i < 3; ++i) {
                const std::int64_t index = at[i] * strides[i] + tap[i] * dilations[i] - pads[i];
                inside &= index >= 0 && index < x[i + 2];
                place = place * x[i + 2] + index;
              }
              if (inside) taps.emplace_back(place, (tap[0] * kernel[1] + tap[1]) * kernel[2] + tap[2]);
            }
        visit((at[0] * y[3] + at[1]) * y[4] + at[2], taps, kernel[0] * kernel[1] * kernel[2]);
      }
}

void convolve(const Convolution& convolution, const Tensor& x, const void* from, const Tensor& w, const void* weights,
              const Tensor& y, void* to,
              const std::function<double(std::int64_t channel, std::int64_t element, double sum)>& finish) {
  const auto in = x.five(), filter = w.five(), out = y.five();
  const std::int64_t image = in[2] * in[3] * in[4], taps_of = filter[2] * filter[3] * filter[4],
                     pixels = out[2] * out[3] * out[4], outputs = filter[0] / convolution.groups;
  Windows windows = convolution.windows;
  windows.kernel.assign(w.dims.begin() + 2, w.dims.end());
  const bool rounds = x.type == Element::float32 && convolution.math != kMultiplyAdds;
  const auto value = [&](const Tensor& tensor, const void* base, std::int64_t index) {
    const double element = emulated_gpu::load(tensor.type, base, index);
    return rounds ? emulated_gpu::as_tf32(element) : element;
  };
  for_each_window(in, out, windows, [&](std::int64_t pixel, const auto& taps, std::int64_t) {
    for (std::int64_t n = 0; n < out[0]; ++n)
      for (std::int64_t k = 0; k < out[1]; ++k) {
        float sum = 0;
        for (std::int64_t c = 0; c < filter[1]; ++c)
          for (const auto& [place, tap] : taps)
            sum = static_cast<float>(sum + value(x, from, (n * in[1] + k / outputs * filter[1] + c) * image + place) *
                                               value(w, weights, (k * filter[1] + c) * taps_of + tap));
        const std::int64_t element = (n * out[1] + k) * pixels + pixel;
        emulated_gpu::store(y.type, to, element, finish(k, element, sum));
      }
  });
}

double activated(const Activation& activation, double value) {
  if (activation.mode == 5) return value;
  return std::min(std::max(value, 0.0),
                  activation.mode == 3 ? activation.coefficient : std::numeric_limits<double>::infinity());
}

// Whether the tensors are packed and in the device's memory.
bool in_device_memory(std::initializer_list<std::pair<const Tensor*, const void*>> tensors) {
  for (const auto& [tensor, address] : tensors)
    if (!tensor->is_packed() || !Driver::get().holds(address, tensor->bytes())) return false;
  return true;
}
int begin(void* handle, const std::function<void()>& work) {
  return Driver::get().enqueue(static_cast<Handle*>(handle)->stream, &work) == 0 ? kSuccess : kFailed;
}
int check_convolution(const Convolution& convolution, const Tensor& x, const void* from, const Tensor& w,
                      const void* weights, const Tensor& y, const void* to, int algorithm, const void* workspace,
                      std::size_t bytes) {
  std::vector<std::int64_t> dims;
  if (!convolution_dims(convolution, x, w, dims) || dims != y.dims || y.type != x.type) return kBadParameter;
  if (algorithm != 0 && algorithm != kImplicitPrecomputed) return kNotSupported;
  const std::size_t needed = algorithm == kImplicitPrecomputed ? kWorkspace : 0;
  if (bytes < needed || (needed > 0 && !Driver::get().holds(workspace, bytes))) return kBadParameter;
  if (!in_device_memory({{&x, from}, {&w, weights}, {&y, to}})) return kBadParameter;
  return static_cast<int>(setting("EMULATED_CUDNN_STATUS", kSuccess));
}

template <typename Object>
int make(Object** object) {
  *object = new Object;
  return kSuccess;
}
template <typename Object>
int drop(Object* object) {
  delete object;
  return kSuccess;
}
bool are_at_least(const int* list, int count, int least) {
  return std::all_of(list, list + count, [&](int value) { return value >= least; });
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return static_cast<std::size_t>(setting("EMULATED_CUDNN_VERSION", 91900)); }
const char* cudnnGetErrorString(int status) {
  return status == kSuccess          ? "CUDNN_STATUS_SUCCESS"
         : status == kBadParameter   ? "CUDNN_STATUS_BAD_PARAM"
         : status == kNotSupported   ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status == kNotInitialized ? "CUDNN_STATUS_NOT_INITIALIZED"
                                     : "CUDNN_STATUS_EXECUTION_FAILED";
}
int cudnnCreate(Handle** handle) { return Driver::get().enqueue == nullptr ? kNotInitialized : make(handle); }
int cudnnDestroy(Handle* handle) { return drop(handle); }
int cudnnSetStream(Handle* handle, void* stream) {
  handle->stream = stream;
  return kSuccess;
}

int cudnnCreateTensorDescriptor(Tensor** tensor) { return make(tensor); }
int cudnnDestroyTensorDescriptor(Tensor* tensor) { return drop(tensor); }
int cudnnSetTensorNdDescriptor(Tensor* tensor, int type, int rank, const int* dims, const int* strides) {
  if (rank < 4 || rank > 8) return kNotSupported;
  if (!element_of(type, tensor->type) || !are_at_least(dims, rank, 1) || !are_at_least(strides, rank, 1))
    return kBadParameter;
  tensor->dims.assign(dims, dims + rank);
  tensor->strides.assign(strides, strides + rank);
  return kSuccess;
}
int cudnnCreateFilterDescriptor(Tensor** filter) { return make(filter); }
int cudnnDestroyFilterDescriptor(Tensor* filter) { return drop(filter); }
int cudnnSetFilterNdDescriptor(Tensor* filter, int type, int format, int rank, const int* dims) {
  std::vector<int> strides(static_cast<std::size_t>(std::max(rank, 1)), 1);
  for (std::size_t i = strides.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return format == 0 ? cudnnSetTensorNdDescriptor(filter, type, rank, dims, strides.data()) : kNotSupported;
}

int cudnnCreateConvolutionDescriptor(Convolution** convolution) { return make(convolution); }
int cudnnDestroyConvolutionDescriptor(Convolution* convolution) { return drop(convolution); }
int cudnnSetConvolutionNdDescriptor(Convolution* convolution, int axes, const int* pads, const int* strides,
                                    const int* dilations, int mode, int compute) {
  if (axes < 2 || axes > 3 || mode != 1 || compute != 0) return kNotSupported;
  if (!are_at_least(pads, axes, 0) || !are_at_least(strides, axes, 1) || !are_at_least(dilations, axes, 1))
    return kBadParameter;
  convolution->windows = {{}, {pads, pads + axes}, {strides, strides + axes}, {dilations, dilations + axes}};
  return kSuccess;
}
int cudnnSetConvolutionGroupCount(Convolution* convolution, int groups) {
  if (groups < 1) return kBadParameter;
  convolution->groups = groups;
  return kSuccess;
}
int cudnnSetConvolutionMathType(Convolution* convolution, int math) {
  if (math < 0 || math > kMultiplyAdds) return kBadParameter;
  convolution->math = math;
  return kSuccess;
}
int cudnnGetConvolutionNdForwardOutputDim(const Convolution* convolution, const Tensor* x, const Tensor* w, int rank,
                                          int* dims) {
  std::vector<std::int64_t> made;
  if (!convolution_dims(*convolution, *x, *w, made) || made.size() != static_cast<std::size_t>(rank))
    return kBadParameter;
  std::copy(made.begin(), made.end(), dims);
  return kSuccess;
}
// The first algorithm fails, the second rounds float32 to TF32, the third needs workspace, the last is slow.
int cudnnGetConvolutionForwardAlgorithm_v7(void*, const Tensor* x, const Tensor* w, const Convolution* convolution,
                                           const Tensor* y, int asked, int* given, Performance* list) {
  std::vector<std::int64_t> made;
  if (!convolution_dims(*convolution, *x, *w, made) || made != y->dims) return kBadParameter;
  const bool free = x->type == Element::float32 && convolution->math != kMultiplyAdds;
  const std::array<Performance, 4> all{{{6, kNotSupported, 0, 0, 1, 0, {}},
                                        {kImplicitPrecomputed, kSuccess, 1, kWorkspace, 1, 1, {}},
                                        {kImplicitPrecomputed, kSuccess, 2, kWorkspace, 1, convolution->math, {}},
                                        {0, kSuccess, 3, 0, 1, convolution->math, {}}}};
  *given = 0;
  for (const Performance& one : all)
    if (*given < asked && (free || one.math != 1 || convolution->math == 1)) list[(*given)++] = one;
  return kSuccess;
}
int cudnnGetConvolutionForwardWorkspaceSize(void*, const Tensor*, const Tensor*, const Convolution*, const Tensor*,
                                            int algorithm, std::size_t* bytes) {
  if (algorithm != 0 && algorithm != kImplicitPrecomputed) return kNotSupported;
  *bytes = algorithm == kImplicitPrecomputed ? kWorkspace : 0;
  return kSuccess;
}

int cudnnConvolutionForward(void* handle, const void* alpha, const Tensor* x, const void* from, const Tensor* w,
                            const void* weights, const Convolution* convolution, int algorithm, void* workspace,
                            std::size_t bytes, const void* beta, const Tensor* y, void* to) {
  if (const int status = check_convolution(*convolution, *x, from, *w, weights, *y, to, algorithm, workspace, bytes);
      status != kSuccess)
    return status;
  if (scalar(beta) != 0) return kNotSupported;
  return begin(handle, [=, a = scalar(alpha), c = *convolution, in = *x, filter = *w, out = *y] {
    if (bytes > 0) std::memset(workspace, 0x7f, bytes);
    convolve(c, in, from, filter, weights, out, to, [&](std::int64_t, std::int64_t, double sum) { return a * sum; });
  });
}
int cudnnConvolutionBiasActivationForward(void* handle, const void* alpha1, const Tensor* x, const void* from,
                                          const Tensor* w, const void* weights, const Convolution* convolution,
                                          int algorithm, void* workspace, std::size_t bytes, const void* alpha2,
                                          const Tensor* z, const void* added, const Tensor* bias_tensor,
                                          const void* bias, const Activation* activation, const Tensor* y, void* to) {
  if (const int status = check_convolution(*convolution, *x, from, *w, weights, *y, to, algorithm, workspace, bytes);
      status != kSuccess)
    return status;
  std::vector<std::int64_t> dims(y->dims.size(), 1);
  dims[1] = y->dims[1];
  if (bias_tensor->dims != dims || z->dims != y->dims || z->type != y->type) return kBadParameter;
  if (!in_device_memory({{bias_tensor, bias}, {z, added}})) return kBadParameter;
  if (activation->mode != 1 && (activation->mode != 5 || algorithm != kImplicitPrecomputed)) return kNotSupported;
  return begin(handle, [=, a = scalar(alpha1), b = scalar(alpha2), c = *convolution, in = *x, filter = *w, out = *y,
                        kind = *activation, type = bias_tensor->type] {
    if (bytes > 0) std::memset(workspace, 0x7f, bytes);
    convolve(c, in, from, filter, weights, out, to, [&](std::int64_t channel, std::int64_t element, double sum) {
      // As one of the library's algorithms does on an H200: the sum is rounded to the result's type before the bias.
      double rounded = 0;
      emulated_gpu::store(out.type, &rounded, 0, sum);
      rounded = emulated_gpu::load(out.type, &rounded, 0);
      const double more = b == 0 ? 0 : b * emulated_gpu::load(out.type, added, element);
      return activated(kind, a * rounded + more + emulated_gpu::load(type, bias, channel));
    });
  });
}
int cudnnAddTensor(void* handle, const void* alpha, const Tensor* a, const void* from, const void* beta,
                   const Tensor* c, void* to) {
  if (a->dims.size() != c->dims.size() || a->type != c->type || !in_device_memory({{a, from}, {c, to}}))
    return kBadParameter;
  for (std::size_t i = 0; i < a->dims.size(); ++i)
    if (a->dims[i] != 1 && a->dims[i] != c->dims[i]) return kBadParameter;
  return begin(handle, [=, first = scalar(alpha), second = scalar(beta), x = *a, y = *c] {
    for (std::int64_t i = 0; i < y.count(); ++i) {
      std::int64_t rest = i, at = 0;
      for (std::size_t axis = y.dims.size(); axis-- > 0; rest /= y.dims[axis])
        if (x.dims[axis] != 1) at += rest % y.dims[axis] * x.strides[axis];
      emulated_gpu::store(y.type, to, i,
                          first * emulated_gpu::load(x.type, from, at) + second * emulated_gpu::load(y.type, to, i));
    }
  });
}

int cudnnCreateActivationDescriptor(Activation** activation) { return make(activation); }
int cudnnDestroyActivationDescriptor(Activation* activation) { return drop(activation); }
int cudnnSetActivationDescriptor(Activation* activation, int mode, int, double coefficient) {
  if (mode != 1 && mode != 3 && mode != 5) return kBadParameter;
  *activation = {mode, coefficient};
  return kSuccess;
}
int cudnnActivationForward(void* handle, const Activation* activation, const void* alpha, const Tensor* x,
                           const void* from, const void* beta, const Tensor* y, void* to) {
  if (activation->mode == 5 || x->dims != y->dims || !in_device_memory({{x, from}, {y, to}}) || scalar(beta) != 0)
    return kBadParameter;
  return begin(handle, [=, a = scalar(alpha), kind = *activation, in = *x, out = *y] {
    for (std::int64_t i = 0; i < in.count(); ++i)
      emulated_gpu::store(out.type, to, i, a * activated(kind, emulated_gpu::load(in.type, from, i)));
  });
}

int cudnnCreatePoolingDescriptor(Pool** pool) { return make(pool); }
int cudnnDestroyPoolingDescriptor(Pool* pool) { return drop(pool); }
int cudnnSetPoolingNdDescriptor(Pool* pool, int mode, int, int axes, const int* window, const int* pads,
                                const int* strides) {
  if (mode < 0 || mode > 3) return kBadParameter;
  if (axes < 2 || axes > 3) return kNotSupported;
  if (!are_at_least(window, axes, 1) || !are_at_least(pads, axes, 0) || !are_at_least(strides, axes, 1))
    return kBadParameter;
  pool->mode = mode;
  pool->windows = {{window, window + axes},
                   {pads, pads + axes},
                   {strides, strides + axes},
                   std::vector<std::int64_t>(static_cast<std::size_t>(axes), 1)};
  return kSuccess;
}
int cudnnGetPoolingNdForwardOutputDim(const Pool* pool, const Tensor* x, int rank, int* dims) {
  std::vector<std::int64_t> y = x->dims;
  if (y.size() != static_cast<std::size_t>(rank) || !output_dims(pool->windows, x->dims, y)) return kBadParameter;
  std::copy(y.begin(), y.end(), dims);
  return kSuccess;
}
int cudnnPoolingForward(void* handle, const Pool* pool, const void* alpha, const Tensor* x, const void* from,
                        const void* beta, const Tensor* y, void* to) {
  std::vector<std::int64_t> dims = x->dims;
  if (!output_dims(pool->windows, x->dims, dims) || dims != y->dims || x->type != y->type || scalar(beta) != 0 ||
      !in_device_memory({{x, from}, {y, to}}))
    return kBadParameter;
  return begin(handle, [=, a = scalar(alpha), p = *pool, tensor = *x, result = *y] {
    const auto in = tensor.five(), out = result.five();
    const std::int64_t image = in[2] * in[3] * in[4], pixels = out[2] * out[3] * out[4];
    for_each_window(in, out, p.windows, [&](std::int64_t pixel, const auto& taps, std::int64_t volume) {
      for (std::int64_t plane = 0; plane < in[0] * in[1]; ++plane) {
        double largest = -std::numeric_limits<double>::infinity();
        float sum = 0;
        for (const auto& [place, tap] : taps) {
          const double value = emulated_gpu::load(tensor.type, from, plane * image + place);
          largest = std::max(largest, value);
          sum += static_cast<float>(value);
        }
        const auto divisor = static_cast<float>(p.mode == 1 ? volume : static_cast<std::int64_t>(taps.size()));
        const double value = p.mode == 0 || p.mode == 3 ? largest : static_cast<double>(sum / divisor);
        emulated_gpu::store(result.type, to, plane * pixels + pixel, a * value);
      }
    });
  });
}

int cudnnSoftmaxForward(void* handle, int algorithm, int mode, const void* alpha, const Tensor* x, const void* from,
                        const void* beta, const Tensor* y, void* to) {
  if (algorithm < 0 || algorithm > 2 || mode != 1 || x->dims != y->dims || scalar(beta) != 0 ||
      !in_device_memory({{x, from}, {y, to}}))
    return kBadParameter;
  return begin(handle, [=, a = scalar(alpha), in = *x] {
    const std::int64_t channels = in.dims[1], inner = in.count() / in.dims[0] / channels;
    for (std::int64_t row = 0; row < in.dims[0] * inner; ++row) {
      const auto at = [&](std::int64_t c) { return (row / inner * channels + c) * inner + row % inner; };
      float largest = -std::numeric_limits<float>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < channels; ++c)
        largest = std::max(largest, static_cast<float>(emulated_gpu::load(in.type, from, at(c))));
      const auto shifted = [&](std::int64_t c) {
        return static_cast<float>(emulated_gpu::load(in.type, from, at(c))) - largest;
      };
      for (std::int64_t c = 0; c < channels; ++c) sum += std::exp(shifted(c));
      std::vector<double> values;
      for (std::int64_t c = 0; c < channels; ++c)
        values.push_back(algorithm == 2 ? shifted(c) - std::log(sum) : std::exp(shifted(c)) / sum);
      for (std::int64_t c = 0; c < channels; ++c)
        emulated_gpu::store(in.type, to, at(c), a * values[static_cast<std::size_t>(c)]);
    }
  });
}
}

// A convolution with everything after it that oneDNN can take along. Shared by layers and networks.
#pragma once

#include <optional>

#include "base/ndarray.h"
#include "bench/cpu/onednn/chain.h"

namespace dovetail::bench::onednn {

struct ConvolutionStep {
  NdArray weights, bias;      // OIHW with I of one group
  std::vector<float> scales;  // int8: by output channel
  std::int64_t groups = 1;
  Dims strides, pads_begin, pads_end;
  Dims output;  // NCHW
  Type output_type = Type::f32;
  std::optional<dnnl::memory> sum;  // its contents are added; the result replaces them
  enum class Activation : std::uint8_t { none, relu, clip } activation = Activation::none;
  float low = 0, high = 0;  // of clip
};

// `source`, `target`: the layouts at either end.
dnnl::memory add_convolution(Chain& chain, const dnnl::memory& x, const ConvolutionStep& step,
                             const dnnl::memory::desc& source, const dnnl::memory::desc& target);

}  // namespace dovetail::bench::onednn

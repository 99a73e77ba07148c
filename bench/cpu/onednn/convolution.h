// A convolution with all the following operators that oneDNN can fuse. Shared by layers and networks.
#pragma once

#include <optional>

#include "base/ndarray.h"
#include "bench/cpu/onednn/chain.h"

namespace dovetail::bench::onednn {

struct ConvolutionStep {
  NdArray weights, bias;      // OIHW, I being the inputs of one group
  std::vector<float> scales;  // int8: per output channel
  std::int64_t groups = 1;
  Dims strides, pads_begin, pads_end;
  Dims output;  // NCHW
  Type output_type = Type::f32;
  std::optional<dnnl::memory> sum;  // added to the result, which overwrites it
  enum class Activation : std::uint8_t { none, relu, clip } activation = Activation::none;
  float low = 0, high = 0;  // bounds of clip
};

// `source`, `target`: the layouts of input and output.
dnnl::memory add_convolution(Chain& chain, const dnnl::memory& x, const ConvolutionStep& step,
                             const dnnl::memory::desc& source, const dnnl::memory::desc& target);

}  // namespace dovetail::bench::onednn

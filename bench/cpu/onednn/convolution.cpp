#include "bench/cpu/onednn/convolution.h"

namespace dovetail::bench::onednn {

dnnl::memory add_convolution(Chain& chain, const dnnl::memory& x, const ConvolutionStep& step,
                             const dnnl::memory::desc& source, const dnnl::memory::desc& target) {
  using Algorithm = dnnl::algorithm;
  Dims weight_dims = step.weights.shape();
  if (step.groups > 1) {
    weight_dims[0] /= step.groups;
    weight_dims.insert(weight_dims.begin(), step.groups);
  }
  const Dims bias_dims{step.output[1]};
  const Type bias_type = type_of(step.bias.dtype());
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, Algorithm::convolution_direct, source,
                                             any(weight_dims, type_of(step.weights.dtype())), any(bias_dims, bias_type),
                                             target, step.strides, step.pads_begin, step.pads_end);
  dnnl::primitive_attr attributes = Chain::attributes();
  if (!step.scales.empty()) attributes.set_output_scales(1 << 1, step.scales);
  dnnl::post_ops operations;
  if (step.sum) operations.append_sum();
  if (step.activation == ConvolutionStep::Activation::relu) operations.append_eltwise(1, Algorithm::eltwise_relu, 0, 0);
  if (step.activation == ConvolutionStep::Activation::clip)
    operations.append_eltwise(1, Algorithm::eltwise_clip, step.low, step.high);
  attributes.set_post_ops(operations);

  const dnnl::convolution_forward::primitive_desc primitive(desc, attributes, chain.engine());
  const dnnl::memory y = step.sum ? *step.sum : chain.memory(primitive.dst_desc());
  const dnnl::memory in = chain.as(x, primitive.src_desc());
  chain.add(primitive, dnnl::convolution_forward(primitive),
            {{DNNL_ARG_SRC, in},
             {DNNL_ARG_WEIGHTS, chain.constant(step.weights, weight_dims, primitive.weights_desc())},
             {DNNL_ARG_BIAS, chain.constant(step.bias, bias_dims, primitive.bias_desc())},
             {DNNL_ARG_DST, y}});
  return y;
}

}  // namespace dovetail::bench::onednn

#include "bench/cpu/onednn/layer.h"

#include <memory>

#include <fmt/format.h>

#include "bench/cpu/onednn/convolution.h"

namespace dovetail::bench::onednn {
namespace {

struct State {
  explicit State(Chain::Reorders reorders) : chain(reorders) {}
  Chain chain;
  dnnl::memory y;
  DType type = DType::float32;
};

dnnl::memory add_layer(Chain& chain, const Problem& problem, const Convolution& c, DType type, Layout layout) {
  const Dims in{1, c.inputs, c.size, c.size}, out{1, c.outputs, c.output_size(), c.output_size()};
  ConvolutionStep step{.weights = problem.w,
                       .bias = problem.bias,
                       .scales = {},
                       .groups = c.groups,
                       .strides = {c.stride, c.stride},
                       .pads_begin = {c.pad, c.pad},
                       .pads_end = {c.pad, c.pad},
                       .output = out,
                       .output_type = type_of(type),
                       .sum = std::nullopt,
                       .activation = ConvolutionStep::Activation::relu};
  for (std::int64_t i = 0; i < problem.scale.count(); ++i)
    step.scales.push_back(problem.scale.data<float>()[static_cast<std::size_t>(i)]);
  const dnnl::memory y = add_convolution(chain, chain.load(problem.x), step, any(in, type_of(problem.x.dtype())),
                                         any(out, step.output_type));
  return layout == Layout::own ? y : chain.as(y, plain(out, step.output_type));
}

dnnl::memory add_layer(Chain& chain, const Problem& problem, const Product& p, DType type, Layout layout) {
  const Dims a_dims{p.m, p.k}, b_dims{p.k, p.n}, c_dims{p.m, p.n};
  // The right operand is a weight, known in advance: packed, unless everything is plain.
  const Type b_type = type_of(problem.w.dtype());
  const dnnl::matmul::desc desc(plain(a_dims, type_of(problem.x.dtype())),
                                layout == Layout::own ? any(b_dims, b_type) : plain(b_dims, b_type),
                                plain(c_dims, type_of(type)));
  const dnnl::matmul::primitive_desc primitive(desc, Chain::attributes(), chain.engine());
  const dnnl::memory y = chain.memory(primitive.dst_desc());
  chain.add(primitive, dnnl::matmul(primitive),
            {{DNNL_ARG_SRC, chain.load(problem.x)},
             {DNNL_ARG_WEIGHTS, chain.constant(problem.w, b_dims, primitive.weights_desc())},
             {DNNL_ARG_DST, y}});
  return y;
}

Candidate make(const Problem& problem, std::string name, Layout layout) {
  const auto state =
      std::make_shared<State>(layout == Layout::own ? Chain::Reorders::beforehand : Chain::Reorders::timed);
  if (problem.spec.number == Number::int8)
    state->type = std::holds_alternative<Product>(problem.spec.shape) ? DType::int32 : DType::uint8;
  state->y = std::visit([&](const auto& shape) { return add_layer(state->chain, problem, shape, state->type, layout); },
                        problem.spec.shape);
  state->chain.finish();
  return {std::move(name), [state] { state->chain.run(); },
          [state] { return state->chain.read(state->y, state->type); }};
}

}  // namespace

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

Candidate make_layer(const Problem& problem, Layout layout) {
  return make(problem, layout == Layout::own ? "oneDNN" : "oneDNN, plain", layout);
}

}  // namespace dovetail::bench::onednn

#include "bench/cpu/onednn/network.h"

#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "bench/cpu/onednn/convolution.h"
#include "compiler/passes/list.h"

namespace dovetail::bench::onednn {
namespace {

using graph::NodeId;
using graph::ValueId;
using Step = ConvolutionStep;
using Ints = std::vector<std::int64_t>;

class Builder {
 public:
  Builder(const graph::Graph& graph, Chain& chain) : graph_(graph), chain_(chain) {}

  Result<dnnl::memory> build(const NdArray& input) {
    values_.emplace(graph_.inputs[0], chain_.load(input));
    for (NodeId id : graph_.topological_order()) {
      if (taken_.count(id)) continue;
      const graph::Node& node = graph_.node(id);
      if (node.op == "Conv") convolution(id);
      else if (node.op == "Add") sum(id);
      else if (node.op == "MaxPool") pool(node, dnnl::algorithm::pooling_max, ints_attribute(node, "kernel_shape", {}));
      else if (node.op == "GlobalAveragePool")
        pool(node, dnnl::algorithm::pooling_avg_exclude_padding, spatial(node.inputs[0]));
      else if (node.op == "Flatten")
        values_.emplace(node.outputs[0], at(node.inputs[0]));  // the dense layer takes NCHW
      else if (node.op == "Gemm") dense(node);
      else
        return Diagnostic{"cannot run the network with oneDNN", node.name,
                          fmt::format("the chain has no primitive for operator {} at this position", node.op),
                          "add it in bench/cpu/onednn"};
    }
    const ValueId output = graph_.outputs[0];
    return chain_.as(at(output), plain(shape(output), Type::f32));
  }

 private:
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  Ints spatial(ValueId id) const { return {shape(id)[2], shape(id)[3]}; }
  const dnnl::memory& at(ValueId id) const { return values_.at(id); }
  const NdArray& constant(ValueId id) const { return *graph_.value(id).constant; }

  // The only user of an internal value, if its operator is `op`.
  std::optional<NodeId> sole_user(ValueId id, std::string_view op) const {
    const std::vector<NodeId> users = graph_.users(id);
    if (users.size() != 1 || graph_.is_output(id) || graph_.node(users[0]).op != op) return std::nullopt;
    return users[0];
  }

  // Appends the activation after `value` to the step; returns the last value.
  ValueId take_activation(ValueId value, Step& step) {
    const auto relu = sole_user(value, "Relu"), clip = sole_user(value, "Clip");
    if (!relu && !clip) return value;
    const graph::Node& node = graph_.node(relu ? *relu : *clip);
    step.activation = relu ? Step::Activation::relu : Step::Activation::clip;
    if (clip)
      step.low = constant(node.inputs[1]).data<float>()[0], step.high = constant(node.inputs[2]).data<float>()[0];
    taken_.insert(relu ? *relu : *clip);
    return node.outputs[0];
  }

  // Fuses the sum after a convolution if the other operand is already computed and not used later: it is overwritten.
  ValueId take_sum(ValueId value, Step& step) {
    const auto add = sole_user(value, "Add");
    if (!add) return value;
    const graph::Node& node = graph_.node(*add);
    const ValueId other = node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
    if (!values_.count(other) || other == graph_.inputs[0] || graph_.is_output(other)) return value;
    for (NodeId user : graph_.users(other))
      if (user != *add && !done(user)) return value;
    step.sum = at(other);
    taken_.insert(*add);
    return node.outputs[0];
  }
  bool done(NodeId id) const { return values_.count(graph_.node(id).outputs[0]) || taken_.count(id); }

  void convolution(NodeId id) {
    const graph::Node& node = graph_.node(id);
    const Ints pads = ints_attribute(node, "pads", {0, 0, 0, 0});
    Step step;
    step.weights = constant(node.inputs[1]);
    step.bias =
        node.inputs.size() > 2 ? constant(node.inputs[2]) : NdArray(DType::float32, {shape(node.outputs[0])[1]});
    step.groups = int_attribute(node, "group", 1);
    step.strides = ints_attribute(node, "strides", {1, 1});
    step.pads_begin = {pads[0], pads[1]}, step.pads_end = {pads[2], pads[3]};
    step.output = shape(node.outputs[0]);
    const ValueId result = take_activation(take_sum(node.outputs[0], step), step);
    const dnnl::memory& x = at(node.inputs[0]);
    const dnnl::memory::desc target = step.sum ? step.sum->get_desc() : any(step.output, Type::f32);
    values_.insert_or_assign(result, add_convolution(chain_, x, step, any(shape(node.inputs[0]), Type::f32), target));
    taken_.insert(id);
  }

  // A sum that is not fused into a convolution.
  void sum(NodeId id) {
    const graph::Node& node = graph_.node(id);
    const dnnl::memory a = at(node.inputs[0]), b = chain_.as(at(node.inputs[1]), a.get_desc());
    const dnnl::binary::desc desc(dnnl::algorithm::binary_add, a.get_desc(), b.get_desc(), a.get_desc());
    const dnnl::binary::primitive_desc primitive(desc, Chain::attributes(), chain_.engine());
    const dnnl::memory y = chain_.memory(primitive.dst_desc());
    chain_.add(primitive, dnnl::binary(primitive), {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, y}});
    values_.emplace(node.outputs[0], y);
  }

  void pool(const graph::Node& node, dnnl::algorithm algorithm, const Ints& kernel) {
    const Ints pads = ints_attribute(node, "pads", {0, 0, 0, 0});
    const dnnl::memory x = at(node.inputs[0]);
    const dnnl::pooling_forward::desc desc(
        dnnl::prop_kind::forward_inference, algorithm, x.get_desc(), any(shape(node.outputs[0]), Type::f32),
        ints_attribute(node, "strides", {1, 1}), kernel, {pads[0], pads[1]}, {pads[2], pads[3]});
    const dnnl::pooling_forward::primitive_desc primitive(desc, Chain::attributes(), chain_.engine());
    const dnnl::memory y = chain_.memory(primitive.dst_desc());
    chain_.add(primitive, dnnl::pooling_forward(primitive), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
    values_.emplace(node.outputs[0], y);
  }

  void dense(const graph::Node& node) {
    const dnnl::memory x = at(node.inputs[0]);
    Dims weights = x.get_desc().dims();  // [outputs, C, H, W]
    weights[0] = shape(node.outputs[0])[1];
    const dnnl::inner_product_forward::desc desc(dnnl::prop_kind::forward_inference,
                                                 any(x.get_desc().dims(), Type::f32), any(weights, Type::f32),
                                                 any({weights[0]}, Type::f32), any(shape(node.outputs[0]), Type::f32));
    const dnnl::inner_product_forward::primitive_desc primitive(desc, Chain::attributes(), chain_.engine());
    const dnnl::memory y = chain_.memory(primitive.dst_desc());
    chain_.add(primitive, dnnl::inner_product_forward(primitive),
               {{DNNL_ARG_SRC, chain_.as(x, primitive.src_desc())},
                {DNNL_ARG_WEIGHTS, chain_.constant(constant(node.inputs[1]), weights, primitive.weights_desc())},
                {DNNL_ARG_BIAS, chain_.constant(constant(node.inputs[2]), {weights[0]}, primitive.bias_desc())},
                {DNNL_ARG_DST, y}});
    values_.emplace(node.outputs[0], y);
  }

  const graph::Graph& graph_;
  Chain& chain_;
  std::map<ValueId, dnnl::memory> values_;
  std::set<NodeId> taken_;  // nodes fused into previous steps
};

}  // namespace

Result<Candidate> make_network(graph::Graph graph, const NdArray& input) {
  DOVETAIL_TRY(passes::fold_batch_norm(graph));
  struct State {
    Chain chain{Chain::Reorders::timed};
    dnnl::memory y;
  };
  const auto state = std::make_shared<State>();
  DOVETAIL_ASSIGN(state->y, Builder(graph, state->chain).build(input));
  state->chain.finish();
  return Candidate{"oneDNN", [state] { state->chain.run(); },
                   [state] { return state->chain.read(state->y, DType::float32); }};
}

}  // namespace dovetail::bench::onednn

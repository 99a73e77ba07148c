// Convolutions, and operators that are lowered to convolutions: scaling by constants (1x1, depthwise) and averaging
// (depthwise with weights of 1).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/convolve.h"
#include "compiler/ops/op.h"
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes::qdq {
namespace {

constexpr std::string_view kNotQuantized =
    "its input is not quantized: no DequantizeLinear of an int8 or uint8 tensor with one scale";

Node convolution(Lowering& lowering, NodeId op, const Operand& x, const Weight& weight,
                 const Accumulation& accumulation, const Target& target) {
  const std::string stem = lowering.graph.node(op).name;
  Node node;
  node.op = "dovetail.qconv";
  node.inputs = {x.value, lowering.int8_constant(stem + "/weight", weight.steps),
                 lowering.graph.add_constant(stem + "/bias", accumulation.bias),
                 lowering.graph.add_constant(stem + "/scale", accumulation.scale)};
  if (weight.has_zero_points()) {
    NdArray zero_points(DType::int8, {static_cast<std::int64_t>(weight.zero_points.size())});
    for (std::size_t i = 0; i < weight.zero_points.size(); ++i)
      zero_points.set_int64(static_cast<std::int64_t>(i), weight.zero_points[i]);
    node.inputs.push_back(lowering.int8_constant(stem + "/weight_zero_point", std::move(zero_points)));
  }
  node.attributes["x_zero_point"] = std::int64_t{x.q.zero_point};
  set_output(node, target.q, target.range);
  return node;
}

void set_window(Node& node, const ops::Window& window, std::int64_t group) {
  std::vector<std::int64_t> pads = window.pad_begin;
  pads.insert(pads.end(), window.pad_end.begin(), window.pad_end.end());
  node.attributes["strides"] = window.strides;
  node.attributes["dilations"] = window.dilations;
  node.attributes["pads"] = std::move(pads);
  node.attributes["group"] = group;
}

// One weight per channel of an [N, C, spatial...] tensor, kernel extents `kernel`.
Weight depthwise(std::int64_t channels, const Shape& kernel) {
  Shape shape{channels, 1};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  Weight weight{NdArray(DType::int8, shape), std::vector<float>(static_cast<std::size_t>(channels), 1.0f),
                std::vector<int>(static_cast<std::size_t>(channels), 0)};
  for (std::int8_t& step : weight.steps.data<std::int8_t>()) step = 1;
  return weight;
}

Refusal convolve(Lowering& lowering, NodeId op, const Target& target, std::vector<ValueId> biases) {
  const Node conv = lowering.graph.node(op);
  const auto x = lowering.dequantized(conv.inputs[0]);
  if (!x) return std::string(kNotQuantized);
  Weight weight;
  if (Refusal refusal = lowering.read_weight(conv.inputs[1], 0, weight); !refusal.empty()) return refusal;
  if (conv.inputs.size() > 2 && conv.inputs[2].valid()) biases.push_back(conv.inputs[2]);
  Accumulation accumulation;
  if (Refusal refusal = accumulate(lowering, *x, weight, biases, target.q, accumulation); !refusal.empty())
    return refusal;
  auto shape = ops::conv_shape({lowering.graph, conv});
  if (!shape) return shape.errors().front().why;
  Node node = convolution(lowering, op, *x, weight, accumulation, target);
  set_window(node, shape->window, shape->group);
  return lowering.place(std::move(node), op, target);
}

}  // namespace

Refusal lower_convolution(Lowering& lowering, NodeId op, const Target& target) {
  return convolve(lowering, op, target, {});
}
Refusal lower_convolution_with(Lowering& lowering, NodeId op, const Target& target, ValueId extra) {
  return convolve(lowering, op, target, {extra});
}

bool is_one_constant(Lowering& lowering, ValueId value) {
  if (element_count(lowering.graph.value(value).type.shape) != 1) return false;
  if (const auto& constant = lowering.graph.value(value).constant) return constant->as_double(0) > 0;
  const auto steps = lowering.dequantized(value);
  return steps && lowering.graph.is_constant(steps->value);
}

// x * c with one constant c becomes a 1x1 depthwise convolution, which rounds once.
Refusal lower_scaling(Lowering& lowering, NodeId op, const Target& target) {
  Graph& graph = lowering.graph;
  const Node mul = graph.node(op);
  const std::size_t side = is_one_constant(lowering, mul.inputs[1]) ? 0 : 1;
  const auto x = lowering.dequantized(mul.inputs[side]);
  const ValueId factor = mul.inputs[1 - side];
  if (!x || !is_one_constant(lowering, factor)) return std::string(kNotQuantized);
  const Shape& shape = graph.value(x->value).type.shape;
  if (shape.size() < 3 || graph.value(target.output).type.shape != shape)
    return "only the product of an [N, C, spatial...] tensor and one number is a convolution";
  const std::int64_t channels = shape[1];
  Weight weight = depthwise(channels, Shape(shape.size() - 2, 1));
  if (const auto c = lowering.dequantized(factor)) {
    for (std::int8_t& step : weight.steps.data<std::int8_t>())
      step = static_cast<std::int8_t>(graph.value(c->value).constant->as_int64(0));
    weight.scales.assign(static_cast<std::size_t>(channels), c->q.scale);
    weight.zero_points.assign(static_cast<std::size_t>(channels), c->q.zero_point);
  } else {
    weight.scales.assign(static_cast<std::size_t>(channels),
                         static_cast<float>(graph.value(factor).constant->as_double(0)));
  }
  Accumulation accumulation;
  if (Refusal refusal = accumulate(lowering, *x, weight, {}, target.q, accumulation); !refusal.empty()) return refusal;
  Node node = convolution(lowering, op, *x, weight, accumulation, target);
  node.attributes["group"] = channels;
  return lowering.place(std::move(node), op, target);
}

// A depthwise convolution with weights of 1 whose scale includes the divisor, so that it rounds once.
Refusal sum_windows(Lowering& lowering, NodeId op, const Operand& x, const std::vector<std::int64_t>& kernel,
                    double divisor, const Target& target, Node& node) {
  Weight weight = depthwise(lowering.graph.value(x.value).type.shape[1], kernel);
  Accumulation accumulation;
  // Checks the accumulator. The scales are computed below, since binary32(sx / (sy * n)) is rounded once.
  if (Refusal refusal = accumulate(lowering, x, weight, {}, target.q, accumulation); !refusal.empty()) return refusal;
  const auto scale =
      static_cast<float>(static_cast<double>(x.q.scale) / (static_cast<double>(target.q.scale) * divisor));
  if (!std::isnormal(scale))
    return fmt::format("scale {} / ({} * {}) is not a normal binary32", x.q.scale, target.q.scale, divisor);
  for (float& each : accumulation.scale.data<float>()) each = scale;
  node = convolution(lowering, op, x, weight, accumulation, target);
  node.attributes["group"] = static_cast<std::int64_t>(weight.scales.size());
  return "";
}

// The mean of n elements.
constexpr std::int64_t kMostAveragedTaps = std::int64_t{1} << 26;

Refusal lower_average(Lowering& lowering, NodeId op, const Target& target) {
  Graph& graph = lowering.graph;
  const Node pool = graph.node(op);
  const auto x = lowering.dequantized(pool.inputs[0]);
  if (!x) return std::string(kNotQuantized);
  const Shape shape = graph.value(x->value).type.shape;
  if (shape.size() < 3)
    return fmt::format("the node averages a tensor of rank {}, but needs [N, C, spatial...]", shape.size());
  Node windowed = pool;
  if (pool.op == "GlobalAveragePool") {
    windowed.attributes.clear();
    windowed.attributes["kernel_shape"] = std::vector<std::int64_t>(shape.begin() + 2, shape.end());
  }
  const std::vector<std::int64_t> kernel = graph::ints_attribute(windowed, "kernel_shape", {});
  auto window = ops::make_window({graph, windowed}, kernel);
  if (!window) return window.errors().front().why;
  if (window->pads_anything() && graph::int_attribute(pool, "count_include_pad", 0) == 0)
    return "the node pads without counting the pads, so the divisor varies";
  for (std::size_t axis = 0; axis < window->rank(); ++axis)
    if (window->touched(axis) > window->pad_begin[axis] + window->input[axis] + window->pad_end[axis])
      return "the last window extends beyond the edge (ceil_mode), so the divisor varies";
  // The sum is a convolution with a weight for each tap. A dilated window that is clipped may fit at more positions.
  const bool dilated = std::ranges::any_of(window->dilations, [](std::int64_t dilation) { return dilation != 1; });
  const ops::Window summed = dilated ? *window : window->clipped();
  if (element_count(summed.kernel) > kMostAveragedTaps / shape[1])
    return fmt::format("the {} taps in {} channels exceed {} weights", element_count(summed.kernel), shape[1],
                       kMostAveragedTaps);
  Node node;
  if (Refusal refusal =
          sum_windows(lowering, op, *x, summed.kernel, static_cast<double>(element_count(kernel)), target, node);
      !refusal.empty())
    return refusal;
  set_window(node, summed, shape[1]);
  return lowering.place(std::move(node), op, target);
}

}  // namespace dovetail::passes::qdq

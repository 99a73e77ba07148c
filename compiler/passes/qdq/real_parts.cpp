// Rewrites the float nodes before a QuantizeLinear from the forms that exporters write to forms that have integer
// rules. No rule changes a real value by more than the rounding of a constant in binary32:
//   - quantize(move(x)) = move(quantize(x)), and f(move(x)) = move(f(x)) for elementwise f, for a transpose or reshape
//     of a result that is computed in integers;
//   - max(min(x, h), l) = clip(x, l, h);
//   - (w · x + b) · c + d = (w · c) · x + (b · c + d), for Mul and Div by positive constants of the output channels,
//   and
//     BatchNormalization; (x · c) for a convolution or product is x with another scale;
//   - mean(mean(x)) = the mean over both axes, mean(transpose(x)) = the mean over other axes, and sum(x) / n = mean(x).
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "compiler/passes/qdq/lowering.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes::qdq {
namespace {

using Ints = std::vector<std::int64_t>;

template <std::size_t n>
bool is_one_of(std::string_view op, const std::array<std::string_view, n>& ops) {
  return std::ranges::find(ops, op) != ops.end();
}

constexpr std::array<std::string_view, 5> kMovements{"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
constexpr std::array<std::string_view, 3> kProducts{"Conv", "Gemm", "MatMul"};
// Operators whose results are computed in integers.
constexpr std::array<std::string_view, 11> kComputed{
    "Conv",       "Gemm",     "MatMul", "Add", "Sub", "Sum", "Mul", "AveragePool", "GlobalAveragePool",
    "ReduceMean", "ReduceSum"};
constexpr std::array<std::string_view, 9> kUnary{"Relu", "Clip",      "LeakyRelu",   "Sigmoid", "Tanh",
                                                 "Elu",  "HardSwish", "HardSigmoid", "Swish"};
constexpr std::array<std::string_view, 6> kBinary{"Add", "Sub", "Mul", "Div", "Max", "Min"};

bool is_dequantized(const Graph& graph, ValueId value) {
  return produced_by(graph, value, "DequantizeLinear").has_value();
}

// The same, perhaps after operators that move values (move_values.cpp).
bool is_moved_steps(const Graph& graph, ValueId value) {
  const NodeId id = value.valid() ? graph.value(value).producer : NodeId{};
  if (!id.valid()) return false;
  const Node& node = graph.node(id);
  if (node.op == "DequantizeLinear") return true;
  const auto moved = std::span(node.inputs).first(moved_inputs(node));
  return !moved.empty() && std::ranges::all_of(moved, [&](ValueId input) { return is_moved_steps(graph, input); });
}

// The real numbers of a constant, or of a DequantizeLinear of constants with one scale, or one along axis 0 of steps
// with one axis.
std::optional<NdArray> real_constant(const Graph& graph, ValueId value) {
  if (!value.valid()) return std::nullopt;
  if (graph.is_constant(value))
    return graph.value(value).type.dtype == DType::float32 ? graph.value(value).constant : std::nullopt;
  const auto producer = produced_by(graph, value, "DequantizeLinear");
  if (!producer) return std::nullopt;
  const Node& node = graph.node(*producer);
  for (const ValueId input : node.inputs)
    if (input.valid() && !graph.is_constant(input)) return std::nullopt;
  const NdArray &steps = *graph.value(node.inputs[0]).constant, &scale = *graph.value(node.inputs[1]).constant;
  const NdArray* zero = has_input(node, 2) ? &*graph.value(node.inputs[2]).constant : nullptr;
  if (scale.count() != 1 && (steps.rank() != 1 || scale.count() != steps.count())) return std::nullopt;
  NdArray real(DType::float32, steps.shape());
  for (std::int64_t i = 0; i < steps.count(); ++i) {
    const std::int64_t at = scale.count() == 1 ? 0 : i;
    const double offset = zero == nullptr ? 0 : zero->as_double(zero->count() == 1 ? 0 : at);
    real.set_double(i, (steps.as_double(i) - offset) * scale.as_double(at));
  }
  return real;
}

// Whether the value's only reader is a QuantizeLinear, perhaps after nodes of the lists above.
bool reaches_quantize(const Graph& graph, ValueId value) {
  while (used_once(graph, value)) {
    const Node& user = graph.node(graph.users(value)[0]);
    if (user.op == "QuantizeLinear") return true;
    if (!is_one_of(user.op, kMovements) && !is_one_of(user.op, kUnary) && !is_one_of(user.op, kBinary) &&
        user.op != "BatchNormalization")
      return false;
    value = user.outputs[0];
  }
  return false;
}

// Whether the value is a result computed in integers, perhaps after elementwise nodes.
bool is_computed(const Graph& graph, ValueId value) {
  for (;;) {
    const NodeId id = graph.value(value).producer;
    if (!id.valid() || !used_once(graph, value)) return false;
    const Node& node = graph.node(id);
    const bool binary = is_one_of(node.op, kBinary) && node.inputs.size() == 2;
    if (binary && (real_constant(graph, node.inputs[0]) || real_constant(graph, node.inputs[1]))) {
      value = node.inputs[real_constant(graph, node.inputs[0]) ? 1 : 0];
      continue;
    }
    if (is_one_of(node.op, kComputed))
      return is_moved_steps(graph, node.inputs[0]) || is_computed(graph, node.inputs[0]);
    if (!is_one_of(node.op, kUnary)) return false;
    value = node.inputs[0];
  }
}

// The movement before the node, if the node is its only reader, and its operand is computed in integers.
std::optional<NodeId> movement_before(const Graph& graph, ValueId value) {
  const NodeId id = graph.value(value).producer;
  if (!id.valid() || !used_once(graph, value)) return std::nullopt;
  const Node& node = graph.node(id);
  return is_one_of(node.op, kMovements) && is_computed(graph, node.inputs[0]) ? std::optional(id) : std::nullopt;
}

// Lets the movement read what `id` computes from the movement's operand.
bool swap(Graph& graph, NodeId id, std::size_t operand, NodeId movement, std::vector<ValueId> inputs) {
  const Node node = graph.node(id), move = graph.node(movement);
  inputs[operand] = move.inputs[0];
  const ValueId moved = insert(graph, node.op, node.name + "/moved", std::move(inputs), node.attributes, node.origins);
  std::vector<ValueId> operands = move.inputs;
  operands[0] = moved;
  return become(graph, id, move.op, operands, move.attributes, {movement});
}

bool move_after_quantize(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (node.op != "QuantizeLinear" || !graph.is_constant(node.inputs[1]) ||
      graph.value(node.inputs[1]).constant->count() != 1)
    return false;
  const auto movement = movement_before(graph, node.inputs[0]);
  return movement && swap(graph, id, 0, *movement, node.inputs);
}

// The constant, transposed so that it broadcasts to the transpose's operand instead of its result.
std::optional<NdArray> before_transpose(const NdArray& constant, const Ints& perm) {
  if (constant.count() == 1) return constant;
  if (constant.shape().size() > perm.size()) return std::nullopt;
  Shape full(perm.size() - constant.shape().size(), 1);
  full.insert(full.end(), constant.shape().begin(), constant.shape().end());
  if (std::ranges::count(full, 1) + 1 != static_cast<std::ptrdiff_t>(full.size())) return std::nullopt;
  Shape shape(full.size(), 1);  // it varies along one axis, so that its elements keep their order
  for (std::size_t i = 0; i < full.size(); ++i) shape[static_cast<std::size_t>(perm[i])] = full[i];
  return constant.reshaped(shape);
}

bool move_after_elementwise(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (!reaches_quantize(graph, node.outputs[0])) return false;
  if (is_one_of(node.op, kUnary)) {
    const auto movement = movement_before(graph, node.inputs[0]);
    return movement && swap(graph, id, 0, *movement, node.inputs);
  }
  if (!is_one_of(node.op, kBinary) || node.inputs.size() != 2) return false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const auto constant = real_constant(graph, node.inputs[1 - side]);
    const auto movement = constant ? movement_before(graph, node.inputs[side]) : std::nullopt;
    if (!movement || shape_of(graph, node.outputs[0]) != shape_of(graph, node.inputs[side])) continue;
    const Node& move = graph.node(*movement);
    auto moved = move.op == "Transpose"   ? before_transpose(*constant, permutation(graph, move))
                 : constant->count() == 1 ? constant
                                          : std::nullopt;
    if (!moved) continue;
    std::vector<ValueId> inputs = node.inputs;
    inputs[1 - side] =
        graph.add_constant(node.name + "/moved_constant", moved->count() == 1 ? moved->reshaped({}) : *moved);
    return swap(graph, id, side, *movement, std::move(inputs));
  }
  return false;
}

// Max and Min of a float result and a number. Of quantized tensors they select steps (lower_selection).
bool to_clip(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if ((node.op != "Max" && node.op != "Min") || node.inputs.size() != 2 || !reaches_quantize(graph, node.outputs[0]))
    return false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const auto bound = real_constant(graph, node.inputs[1 - side]);
    if (!bound || bound->count() == 0 || is_dequantized(graph, node.inputs[side])) continue;
    const double first = bound->as_double(0);
    for (std::int64_t i = 1; i < bound->count(); ++i)
      if (bound->as_double(i) != first) return false;
    const ValueId limit = graph.add_constant(node.name + "/bound", NdArray::scalar(static_cast<float>(first)));
    return node.op == "Max" ? become(graph, id, "Clip", {node.inputs[side], limit})
                            : become(graph, id, "Clip", {node.inputs[side], ValueId{}, limit});
  }
  return false;
}

struct Affine {
  ValueId operand;
  std::vector<double> factor, addend;  // for each channel
};

// The factors, or factors and addends, that the node applies to the channels of its operand.
std::optional<Affine> affine(const Graph& graph, const Node& node, std::size_t axis) {
  const Shape& shape = shape_of(graph, node.outputs[0]);
  if (axis >= shape.size()) return std::nullopt;
  const auto channels = static_cast<std::size_t>(shape[axis]);
  if (node.op == "BatchNormalization") {
    if (axis != 1 || node.outputs.size() != 1 || node.inputs.size() != 5) return std::nullopt;
    std::array<NdArray, 4> given{NdArray(DType::float32, {}), NdArray(DType::float32, {}), NdArray(DType::float32, {}),
                                 NdArray(DType::float32, {})};
    for (std::size_t i = 0; i < 4; ++i) {
      auto known = real_constant(graph, node.inputs[i + 1]);
      if (!known) return std::nullopt;
      given[i] = *std::move(known);
    }
    const double epsilon = static_cast<float>(graph::float_attribute(node, "epsilon", 1e-5));
    Affine result{node.inputs[0], {}, {}};
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      result.factor.push_back(given[0].as_double(c) / std::sqrt(given[3].as_double(c) + epsilon));
      result.addend.push_back(given[1].as_double(c) - given[2].as_double(c) * result.factor.back());
    }
    return result;
  }
  if ((node.op != "Mul" && node.op != "Div") || node.inputs.size() != 2) return std::nullopt;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const auto constant = real_constant(graph, node.inputs[1 - side]);
    if (!constant || (node.op == "Div" && side == 1) || shape_of(graph, node.inputs[side]) != shape) continue;
    const Shape& given = constant->shape();
    const std::size_t missing = shape.size() - std::min(shape.size(), given.size());
    bool by_channel = given.size() <= shape.size();
    for (std::size_t i = 0; i < given.size() && by_channel; ++i) by_channel = given[i] == 1 || i + missing == axis;
    if (!by_channel) return std::nullopt;
    Affine result{node.inputs[side], {}, std::vector<double>(channels, 0.0)};
    for (std::size_t c = 0; c < channels; ++c) {
      const double number = constant->as_double(constant->count() == 1 ? 0 : static_cast<std::int64_t>(c));
      result.factor.push_back(node.op == "Div" ? 1 / number : number);
    }
    return result;
  }
  return std::nullopt;
}

// Factors must be positive, so that quantized values keep their signs, and scales must stay normal numbers.
bool is_scale(double number) { return number > 0 && std::isnormal(static_cast<float>(number)); }

// A DequantizeLinear of the same steps with these scales along `axis`.
ValueId with_scales(Graph& graph, NodeId dequantize, const NdArray& scales, std::int64_t axis) {
  const Node node = graph.node(dequantize);
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = graph.add_constant(node.name + "/scaled", scales);
  graph::Attributes attributes;
  if (scales.rank() == 1) {
    attributes["axis"] = axis;
    if (has_input(node, 2) && graph.value(node.inputs[2]).constant->count() == 1) {
      const NdArray& one = *graph.value(node.inputs[2]).constant;
      NdArray zeros(one.dtype(), scales.shape());
      for (std::int64_t i = 0; i < zeros.count(); ++i) zeros.set_int64(i, one.as_int64(0));
      inputs[2] = graph.add_constant(node.name + "/zero_points", std::move(zeros));
    }
  }
  return insert(graph, "DequantizeLinear", node.name + "/scaled", inputs, attributes, node.origins);
}

// Mul, Div or BatchNormalization after a convolution or product with quantized weights.
bool fold_into_weights(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (node.op != "Mul" && node.op != "Div" && node.op != "BatchNormalization") return false;
  for (const ValueId input : node.inputs) {
    const NodeId producer = input.valid() ? graph.value(input).producer : NodeId{};
    if (!producer.valid() || !is_one_of(graph.node(producer).op, kProducts) || !used_once(graph, input)) continue;
    const Node product = graph.node(producer);
    const auto weight = produced_by(graph, product.inputs[1], "DequantizeLinear");
    if (!weight || !is_moved_steps(graph, product.inputs[0]) || !reaches_quantize(graph, node.outputs[0])) return false;
    const Node dequantize = graph.node(*weight);
    const Shape& shape = shape_of(graph, product.inputs[1]);
    const bool out_in = product.op == "Conv" || graph::int_attribute(product, "transB", 0) != 0;
    if (product.op != "Conv" && shape.size() != 2) return false;
    if (product.op == "Gemm" && graph::float_attribute(product, "beta", 1) != 1) return false;
    const std::int64_t axis = out_in ? 0 : 1;
    const auto known = affine(graph, node, product.op == "Conv" ? 1 : shape_of(graph, node.outputs[0]).size() - 1);
    if (!known || known->operand != input) return false;
    for (const ValueId constant : dequantize.inputs)
      if (constant.valid() && !graph.is_constant(constant)) return false;
    const NdArray& scale = *graph.value(dequantize.inputs[1]).constant;
    if (graph::int_attribute(dequantize, "block_size", 0) != 0 || scale.dtype() != DType::float32) return false;
    std::int64_t scale_axis = graph::int_attribute(dequantize, "axis", 1);
    if (scale_axis < 0) scale_axis += static_cast<std::int64_t>(shape.size());
    const auto channels = static_cast<std::int64_t>(known->factor.size());
    if (channels != shape[static_cast<std::size_t>(axis)] ||
        (scale.count() != 1 && (scale_axis != axis || scale.count() != channels)))
      return false;
    const bool shifts = std::ranges::any_of(known->addend, [](double addend) { return addend != 0; });
    const bool has_bias = has_input(product, 2);
    const auto bias = has_bias ? real_constant(graph, product.inputs[2]) : std::nullopt;
    if ((has_bias && (!bias || (bias->count() != 1 && bias->count() != channels))) ||
        (shifts && product.op == "MatMul"))
      return false;
    NdArray scales(DType::float32, {channels}), sums(DType::float32, {channels});
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto at = static_cast<std::size_t>(c);
      const double number = scale.as_double(scale.count() == 1 ? 0 : c) * known->factor[at];
      if (!is_scale(number)) return false;
      scales.set_double(c, number);
      sums.set_double(c,
                      (bias ? bias->as_double(bias->count() == 1 ? 0 : c) : 0) * known->factor[at] + known->addend[at]);
    }
    std::vector<ValueId> inputs = product.inputs;
    inputs[1] = with_scales(graph, *weight, scales, axis);
    if (has_bias || shifts) {
      inputs.resize(3);
      inputs[2] = graph.add_constant(product.name + "/scaled_bias", sums);
    }
    return become(graph, id, product.op, inputs, product.attributes, {producer});
  }
  return false;
}

// A quantized tensor times a positive number, where convolutions and products read it. (Quantized again, it is a
// convolution: lower_scaling.)
bool fold_into_scale(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (node.op != "Mul" || node.inputs.size() != 2 || graph.is_output(node.outputs[0])) return false;
  for (const NodeId user : graph.users(node.outputs[0]))
    if (!is_one_of(graph.node(user).op, kProducts) || graph.node(user).inputs[0] != node.outputs[0]) return false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const auto dequantize = produced_by(graph, node.inputs[side], "DequantizeLinear");
    const auto factor = uniform(graph, node.inputs[1 - side]);
    if (!dequantize || !factor || shape_of(graph, node.inputs[side]) != shape_of(graph, node.outputs[0])) continue;
    const Node known = graph.node(*dequantize);
    if (graph.is_constant(known.inputs[0]) || !graph.is_constant(known.inputs[1])) continue;
    const NdArray& scale = *graph.value(known.inputs[1]).constant;
    if (scale.count() != 1 || scale.dtype() != DType::float32 || !is_scale(scale.as_double(0) * *factor)) continue;
    std::vector<ValueId> inputs = known.inputs;
    inputs[1] =
        graph.add_constant(node.name + "/scale", NdArray::scalar(static_cast<float>(scale.as_double(0) * *factor)));
    return become(graph, id, "DequantizeLinear", inputs, known.attributes, {*dequantize});
  }
  return false;
}

struct Reduced {
  std::vector<bool> axes;  // of the operand
  bool keeps = true;       // reduced axes stay, with extent 1
};

std::optional<Reduced> reduced(const Graph& graph, const Node& node) {
  if (node.op != "ReduceMean" && node.op != "ReduceSum") return std::nullopt;
  const std::size_t rank = shape_of(graph, node.inputs[0]).size();
  Reduced result{std::vector<bool>(rank, false), graph::int_attribute(node, "keepdims", 1) != 0};
  const auto axes = has_input(node, 1) ? integers(graph, node.inputs[1]) : std::nullopt;
  if (!axes || axes->empty()) return std::nullopt;
  for (const std::int64_t axis : *axes)
    result.axes[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  return result;
}

bool reduce(Graph& graph, NodeId id, std::string_view op, ValueId operand, const Reduced& what,
            const std::vector<NodeId>& absorbed) {
  Ints axes;
  for (std::size_t i = 0; i < what.axes.size(); ++i)
    if (what.axes[i]) axes.push_back(static_cast<std::int64_t>(i));
  return become(graph, id, op, {operand, add_integers(graph, graph.node(id).name + "/axes", axes)},
                {{"keepdims", std::int64_t{what.keeps ? 1 : 0}}}, absorbed);
}

// A mean of a mean, or a sum of a sum.
bool merge_reductions(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  auto outer = reduced(graph, node);
  const auto before = outer ? produced_by(graph, node.inputs[0], node.op) : std::nullopt;
  if (!before || !used_once(graph, node.inputs[0]) || !reaches_quantize(graph, node.outputs[0])) return false;
  const auto inner = reduced(graph, graph.node(*before));
  if (!inner || (inner->keeps != outer->keeps)) return false;
  Reduced both = *inner;
  std::size_t next = 0;
  for (std::size_t i = 0; i < both.axes.size(); ++i) {
    if (!inner->keeps && inner->axes[i]) continue;
    if (outer->axes[next++]) both.axes[i] = true;
  }
  return reduce(graph, id, node.op, graph.node(*before).inputs[0], both, {*before});
}

// A reduction of a transposed tensor whose remaining axes keep their order.
bool reduce_before_transpose(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const auto after = reduced(graph, node);
  if (!after || after->keeps || !reaches_quantize(graph, node.outputs[0])) return false;
  // A transpose of quantized values with a DequantizeLinear after it, or of real values.
  auto transpose = produced_by(graph, node.inputs[0], "Transpose");
  if (!transpose) return false;
  const Node move = graph.node(*transpose);
  const Ints perm = permutation(graph, move);
  Reduced before{std::vector<bool>(perm.size(), false), false};
  std::int64_t last = -1;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (after->axes[i]) {
      before.axes[static_cast<std::size_t>(perm[i])] = true;
      continue;
    }
    if (perm[i] < last) return false;
    last = perm[i];
  }
  return reduce(graph, id, node.op, move.inputs[0], before, {*transpose});
}

// The sum over n elements, times 1 / n or divided by n.
bool sum_to_mean(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if ((node.op != "Mul" && node.op != "Div") || node.inputs.size() != 2 || !reaches_quantize(graph, node.outputs[0]))
    return false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const auto sum = produced_by(graph, node.inputs[side], "ReduceSum");
    const auto number = uniform(graph, node.inputs[1 - side]);
    if (!sum || !number || (node.op == "Div" && side == 1) || !used_once(graph, node.inputs[side])) continue;
    const auto what = reduced(graph, graph.node(*sum));
    if (!what) continue;
    const Shape& shape = shape_of(graph, graph.node(*sum).inputs[0]);
    double count = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) count *= what->axes[i] ? static_cast<double>(shape[i]) : 1;
    const double product = node.op == "Mul" ? *number * count : count / *number;
    if (std::abs(product - 1) > 0x1p-22) continue;  // as binary32 rounds 1 / n
    return reduce(graph, id, "ReduceMean", graph.node(*sum).inputs[0], *what, {*sum});
  }
  return false;
}

constexpr bool (*kRules[])(Graph&, NodeId) = {
    to_clip,          fold_into_weights,       fold_into_scale, move_after_elementwise, move_after_quantize,
    merge_reductions, reduce_before_transpose, sum_to_mean};

}  // namespace

std::int64_t simplify_real_parts(Graph& graph) {
  std::int64_t changes = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeId id : graph.topological_order())
      for (const auto rule : kRules)
        if (!graph.node(id).removed && rule(graph, id)) changed = true, ++changes;
  }
  return changes;
}

}  // namespace dovetail::passes::qdq

#include "compiler/quantize/insert_qdq.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/ops/op.h"
#include "compiler/passes/qdq/lowering.h"
#include "compiler/quantize/functions.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using passes::qdq::Quantization;

enum class Kind : std::uint8_t {
  weighted,   // its second operand may be a constant weight
  pointwise,  // sums, products, averages, functions: every float operand is an activation
  mover,      // moves the first operand's values: its steps remain
  function,   // quantized only as a part of a function of one quantized tensor
  writer,     // writes the second operand's values over some of the first's
};
struct QuantizedOperator {
  std::string_view op;
  Kind kind;
};
constexpr QuantizedOperator kQuantizedOperators[] = {
    {"Abs", Kind::function},
    {"Add", Kind::pointwise},
    {"AveragePool", Kind::pointwise},
    {"Celu", Kind::function},
    {"Clip", Kind::function},
    {"Concat", Kind::pointwise},
    {"Conv", Kind::weighted},
    {"ConvTranspose", Kind::weighted},
    {"DepthToSpace", Kind::mover},
    {"Div", Kind::function},
    {"Elu", Kind::pointwise},
    {"Expand", Kind::mover},
    {"Flatten", Kind::mover},
    {"Gather", Kind::mover},
    {"Gelu", Kind::pointwise},
    {"Gemm", Kind::weighted},
    {"GlobalAveragePool", Kind::pointwise},
    {"GlobalMaxPool", Kind::mover},
    {"HardSigmoid", Kind::pointwise},
    {"HardSwish", Kind::pointwise},
    {"LeakyRelu", Kind::pointwise},
    {"MatMul", Kind::weighted},
    {"Max", Kind::function},
    {"MaxPool", Kind::mover},
    {"Min", Kind::function},
    {"Mish", Kind::function},
    {"Mul", Kind::pointwise},
    {"Neg", Kind::function},
    {"PRelu", Kind::pointwise},
    {"ReduceMean", Kind::pointwise},
    {"Relu", Kind::function},
    {"Reshape", Kind::mover},
    {"Resize", Kind::mover},
    {"Selu", Kind::function},
    {"Sigmoid", Kind::pointwise},
    {"Slice", Kind::mover},
    {"Softplus", Kind::function},
    {"Softsign", Kind::function},
    {"SpaceToDepth", Kind::mover},
    {"Split", Kind::mover},
    {"Squeeze", Kind::mover},
    {"Sub", Kind::pointwise},
    {"Swish", Kind::function},
    {"Tanh", Kind::pointwise},
    {"TensorScatter", Kind::writer},
    {"Tile", Kind::mover},
    {"ThresholdedRelu", Kind::function},
    {"Transpose", Kind::mover},
    {"Unsqueeze", Kind::mover},
};
std::optional<Kind> kind_of(const Node& node) {
  const auto row = std::find_if(std::begin(kQuantizedOperators), std::end(kQuantizedOperators),
                                [&](const QuantizedOperator& each) { return each.op == node.op; });
  if (row == std::end(kQuantizedOperators)) return std::nullopt;
  if (node.op == "Resize" &&
      (graph::string_attribute(node, "mode", "nearest") != "nearest" ||
       graph::string_attribute(node, "coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"))
    return std::nullopt;  // it computes new values
  return row->kind;
}

bool is_real(const Graph& graph, ValueId value) {
  return value.valid() && graph.value(value).type.dtype == DType::float32;
}
bool is_activation(const Graph& graph, ValueId value) { return is_real(graph, value) && !graph.is_constant(value); }

// A node is known by its name and by those of the imported nodes that it represents.
bool is_one_of(const Node& node, const std::vector<std::string>& names) {
  return std::ranges::count(names, node.name) > 0 || std::ranges::any_of(node.origins, [&](const std::string& origin) {
           return std::ranges::count(names, origin) > 0;
         });
}

// The value after `node` and the Add of a constant and the ReLU or Clip that follow it as only readers.
ValueId end_of(const Graph& graph, NodeId id) {
  ValueId value = graph.node(id).outputs[0];
  const bool takes_bias = graph.node(id).op == "Conv" || graph.node(id).op == "MatMul" || graph.node(id).op == "Gemm";
  const auto next = [&]() -> NodeId {
    const std::vector<NodeId> users = graph.users(value);
    return users.size() == 1 && !graph.is_output(value) ? users[0] : NodeId{};
  };
  // A bias: one number, or one per channel (second axis of a convolution, last of a product).
  if (const NodeId user = next(); takes_bias && user.valid() && graph.node(user).op == "Add") {
    const Node& add = graph.node(user);
    const ValueId other = add.inputs[add.inputs[0] == value ? 1 : 0];
    const Shape& shape = graph.value(value).type.shape;
    const bool is_conv = graph.node(id).op == "Conv";
    const std::int64_t channels = shape.empty() ? 1 : is_conv ? shape[1] : shape.back();
    if (graph.is_constant(other) && graph.value(add.outputs[0]).type.shape == shape) {
      const Shape& bias = graph.value(other).type.shape;
      const bool row = element_count(bias) == 1 ||
                       (!is_conv && bias.back() == channels && element_count(bias) == channels) ||
                       (is_conv && bias.size() + 1 >= shape.size() &&
                        bias[bias.size() + 1 - shape.size()] == channels && element_count(bias) == channels);
      if (row) value = add.outputs[0];
    }
  }
  for (NodeId user = next(); user.valid() && (graph.node(user).op == "Relu" || graph.node(user).op == "Clip");
       user = next()) {
    const Node& clip = graph.node(user);
    if (clip.inputs[0] != value || std::any_of(clip.inputs.begin() + 1, clip.inputs.end(), [&](ValueId bound) {
          return bound.valid() && !graph.is_constant(bound);
        }))
      break;
    value = clip.outputs[0];
  }
  return value;
}

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<std::string>& kept) : graph_(graph), kept_(kept) {}

  Places run() {
    const std::vector<NodeId> order = graph_.topological_order();
    functions_ = find_functions(graph_, apart_from_functions(order), [](const Node& node) {
      const auto kind = kind_of(node);
      return kind == Kind::pointwise || kind == Kind::function;
    });
    for (const NodeId id : order) visit(id);
    return std::move(places_);
  }

 private:
  // Nodes that stay in float, and nodes that are part of the place of an earlier node (with several operands or a
  // window).
  std::set<NodeId> apart_from_functions(const std::vector<NodeId>& order) const {
    std::set<NodeId> apart;
    for (const NodeId id : order) {
      const Node& node = graph_.node(id);
      if (is_one_of(node, kept_)) apart.insert(id);
      const auto kind = kind_of(node);
      const auto tensors =
          std::ranges::count_if(node.inputs, [&](ValueId input) { return is_activation(graph_, input); });
      if (kind == Kind::weighted || (kind == Kind::pointwise && (tensors > 1 || !passes::qdq::is_pointwise(node.op))))
        apart.merge(following(id, end_of(graph_, id)));
    }
    return apart;
  }

  // The nodes between the result of `id` and `end`.
  std::set<NodeId> following(NodeId id, ValueId end) const {
    std::set<NodeId> nodes;
    for (ValueId value = end; value != graph_.node(id).outputs[0];) {
      const NodeId producer = graph_.value(value).producer;
      nodes.insert(producer);
      for (const ValueId input : graph_.node(producer).inputs)
        if (!graph_.is_constant(input)) value = input;
    }
    return nodes;
  }

  // Whether the node is a part of a function of a quantized tensor, of which only input and result are quantized.
  bool visit_function(NodeId id) {
    const auto found = functions_.nodes.find(id);
    if (found == functions_.nodes.end()) return false;
    const ValueId tensor = found->second, result = graph_.node(id).outputs[0];
    if (!taken_.emplace(tensor, known_.count(tensor) > 0).first->second) return false;
    if (!functions_.ends.count(result)) return true;
    observe(result);
    places_.made_by.emplace(result, id);
    return true;
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (inside_.count(id)) return;
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId input) { return is_activation(graph_, input); });
    if (!reads) return;
    if (visit_function(id)) return;
    const auto kind = kind_of(node);
    const bool kept = is_one_of(node, kept_);
    if (!kind || kind == Kind::function || kept || !is_real(graph_, node.outputs[0])) {
      // A ReLU that is not part of a larger place limits the range.
      if (!kept && node.op == "Relu" && known_.count(node.inputs[0])) return observe(node.outputs[0]);
      places_.float_nodes.emplace_back(node.name, node.op);
      return;
    }
    if (*kind == Kind::mover) {
      if (normalizes_steps(node.inputs[0]) && leads_to_product(node.outputs[0])) observe(node.inputs[0]);
      if (!is_activation(graph_, node.inputs[0]) || !known_.count(node.inputs[0])) {
        places_.float_nodes.emplace_back(node.name, node.op);
        return;
      }
      for (const ValueId output : node.outputs) {
        places_.same_as[output] = node.inputs[0];
        known_.insert(output);
      }
      return;
    }
    // A constant other than a weight or a factor (an addend, a mask) is not an int8 tensor: only functions of one
    // tensor allow it.
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid() || is_activation(graph_, input)) continue;
      const bool weight = (*kind == Kind::weighted && i > 0) || node.op == "Mul";
      if (!weight && is_real(graph_, input) && element_count(graph_.value(input).type.shape) != 1) {
        places_.float_nodes.emplace_back(node.name, node.op);
        return;
      }
    }
    if (node.op == "Mul") places_.factors.insert(id);
    // A cache has one scale before and after it is written, so that only what is written is converted.
    if (const ValueId cache = node.inputs[0];
        *kind == Kind::writer && graph_.users(cache).size() == 1 && !known_.count(cache)) {
      places_.same_as[cache] = node.outputs[0];
      known_.insert(cache);
    }
    for (const ValueId input : node.inputs)
      if (is_activation(graph_, input)) observe(input);
    const ValueId end = end_of(graph_, id);
    inside_.merge(following(id, end));  // not separate places
    observe(end);
    places_.made_by.emplace(end, id);
  }

  // Whether an operator that has an integer form computes the value from steps.
  bool normalizes_steps(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid()) return false;
    const Node& node = graph_.node(producer);
    return (node.op == "LayerNormalization" || node.op == "RMSNormalization" || node.op == "Softmax") &&
           known_.count(node.inputs[0]) && !is_one_of(node, kept_);
  }

  // Whether the value becomes the first operand of a product, perhaps after it is moved.
  bool leads_to_product(ValueId value) const {
    return std::ranges::any_of(graph_.users(value), [&](NodeId id) {
      const Node& node = graph_.node(id);
      const auto kind = kind_of(node);
      if (!kind || is_one_of(node, kept_) || node.inputs[0] != value) return false;
      return *kind == Kind::weighted || (*kind == Kind::mover && leads_to_product(node.outputs[0]));
    });
  }

  void observe(ValueId value) {
    if (known_.insert(value).second) places_.observed.push_back(value);
  }

  const Graph& graph_;
  const std::vector<std::string>& kept_;
  Places places_;
  Functions functions_;
  std::map<ValueId, bool> taken_;  // whether functions of the tensor are quantized at their ends alone
  std::set<ValueId> known_;
  std::set<NodeId> inside_;
};

class Inserter {
 public:
  Inserter(Graph& graph, const WeightGrid& weights) : graph_(graph), weights_(weights) {}

  // int8 steps of an activation, inserted between it and its users.
  void quantize_activation(ValueId value, const Quantization& q) {
    const std::string name = graph_.value(value).name;
    const graph::TensorType type = graph_.value(value).type;
    const ValueId scale = graph_.add_constant(name + "/scale", NdArray::scalar(q.scale)),
                  zero = graph_.add_constant(name + "/zero_point",
                                             NdArray::scalar(static_cast<std::int8_t>(q.zero_point)));
    const ValueId steps = graph_.add_value(steps_name(name), {DType::int8, type.shape}),
                  real = graph_.add_value(name + "/real", type);
    const std::vector<std::string> origins = graph_.value(value).producer.valid()
                                                 ? graph_.node(graph_.value(value).producer).origins
                                                 : std::vector<std::string>{};
    graph_.replace_uses(value, real);
    add("QuantizeLinear", name + "/quantize", {value, scale, zero}, steps, {}, origins);
    add("DequantizeLinear", name + "/dequantize", {steps, scale, zero}, real, {}, origins);
    scales_[real] = q.scale;
    if (graph_.is_output(real)) std::swap(graph_.value(value).name, graph_.value(real).name);
  }

  // Weight and bias of a Conv, Gemm or MatMul, with scales per output.
  void quantize_weight(NodeId id) {
    const Node node = graph_.node(id);
    const ValueId weight = node.inputs[1];
    if (!graph_.is_constant(weight) || !is_real(graph_, weight) || !scales_.count(node.inputs[0])) return;
    const NdArray& real = *graph_.value(weight).constant;
    const auto rank = static_cast<std::int64_t>(real.rank());
    const std::int64_t axis = output_axis(node, real.rank());
    const bool per_channel = weights_.scales == WeightScales::per_channel && rank >= 2 &&
                             (node.op != "MatMul" || rank == 2) &&
                             (node.op != "ConvTranspose" || graph::int_attribute(node, "group", 1) == 1);
    const bool biased = node.inputs.size() > 2 && node.inputs[2].valid() && graph_.is_constant(node.inputs[2]);
    const float x_scale = scales_.at(node.inputs[0]);
    if (!dequantized_.count(weight)) {
      NdArray scale = weight_scales(real, per_channel ? std::optional(axis) : std::nullopt);
      raise(scale, biased ? &*graph_.value(node.inputs[2]).constant : nullptr, x_scale);
      if (weights_.steps == Scales::power_of_two) scale = powers_of_two(real, scale, axis);
      else if (weights_.bits < 8) scale = clipped(real, scale, axis);
      graph::Attributes attributes;
      if (per_channel) attributes["axis"] = axis;
      const std::string name = graph_.value(weight).name;
      NdArray bytes = quantized(real, scale, axis);  // before adding values, which moves the graph's own
      const ValueId scales = graph_.add_constant(name + "/scale", scale),
                    steps = graph_.add_constant(steps_name(name), std::move(bytes)),
                    back = graph_.add_value(name + "/real", graph_.value(weight).type);
      add("DequantizeLinear", name + "/dequantize", {steps, scales}, back, attributes, node.origins);
      dequantized_[weight] = {back, std::move(scale)};
    }
    const auto& [back, scale] = dequantized_.at(weight);
    graph_.edit(id)->inputs[1] = back;
    if (biased) quantize_bias(id, scale, x_scale);
  }

  // Constant factors of a Mul, with one scale.
  void quantize_factors(NodeId id) {
    const Node node = graph_.node(id);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const ValueId factors = node.inputs[i];
      if (!graph_.is_constant(factors) || !is_real(graph_, factors) || !scales_.count(node.inputs[1 - i])) continue;
      const NdArray& real = *graph_.value(factors).constant;
      if (real.count() == 1) continue;
      if (!dequantized_.count(factors)) {
        NdArray scale = weight_scales(real, std::nullopt);
        raise(scale, nullptr, 1);
        const std::string name = graph_.value(factors).name;
        const ValueId steps = graph_.add_constant(steps_name(name), quantized(real, scale, 0)),
                      back = graph_.add_value(name + "/real", graph_.value(factors).type);
        add("DequantizeLinear", name + "/dequantize", {steps, graph_.add_constant(name + "/scale", scale)}, back, {},
            node.origins);
        dequantized_[factors] = {back, std::move(scale)};
      }
      graph_.edit(id)->inputs[i] = dequantized_.at(factors).value;
    }
  }

 private:
  void add(std::string op, const std::string& name, std::vector<ValueId> inputs, ValueId output,
           graph::Attributes attributes, std::vector<std::string> origins) {
    Node node;
    node.name = graph_.unique_node_name(name);
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    node.origins = std::move(origins);
    graph_.add_node(std::move(node));
  }

  // max|w| / most.
  NdArray weight_scales(const NdArray& weight, std::optional<std::int64_t> axis) const {
    NdArray scale(DType::float32, axis ? Shape{weight.shape()[static_cast<std::size_t>(*axis)]} : Shape{});
    for (std::int64_t i = 0; i < weight.count(); ++i) {
      const std::int64_t slice = axis ? slice_of(weight, *axis, i) : 0;
      scale.set_double(slice, std::max(scale.as_double(slice), std::abs(weight.as_double(i))));
    }
    for (std::int64_t i = 0; i < scale.count(); ++i) scale.set_double(i, scale.as_double(i) / weights_.most());
    return scale;
  }

  // Raises the scales of slices whose weights are far below the others, or far below their bias, as pruning and weight
  // decay leave them: such weights are zero in comparison, and steps of their scale would give a bias beyond int32. A
  // raised scale is below 2^-24 of the largest, or has 2^29 steps for the bias.
  static void raise(NdArray& scale, const NdArray* bias, float x_scale) {
    constexpr double kLeastPart = 0x1p-24, kBiasSteps = 0x1p29;
    double largest = 0;
    for (std::int64_t i = 0; i < scale.count(); ++i) largest = std::max(largest, scale.as_double(i));
    const bool by_slice = bias != nullptr && bias->rank() == 1 && (scale.rank() == 0 || bias->count() == scale.count());
    std::vector<double> least(static_cast<std::size_t>(scale.count()), largest * kLeastPart);
    for (std::int64_t i = 0; by_slice && i < bias->count(); ++i) {
      double& slice = least[scale.rank() == 0 ? 0 : static_cast<std::size_t>(i)];
      slice = std::max(slice, std::abs(bias->as_double(i)) / (static_cast<double>(x_scale) * kBiasSteps));
    }
    for (std::int64_t i = 0; i < scale.count(); ++i) {
      const auto step = static_cast<float>(std::max(scale.as_double(i), least[static_cast<std::size_t>(i)]));
      scale.set_double(i, std::isnormal(step) ? static_cast<double>(step) : 1.0);
    }
  }

  // For each scale, the power of two above it or below it (which clips the largest weights), whichever has the smaller
  // error.
  NdArray powers_of_two(const NdArray& weight, const NdArray& scale, std::int64_t axis) const {
    NdArray above = scale, below = scale;
    for (std::int64_t i = 0; i < scale.count(); ++i) {
      const float power = next_power_of_two(static_cast<float>(scale.as_double(i)));
      above.set_double(i, power);
      below.set_double(i, std::isnormal(power / 2) ? power / 2 : power);
    }
    return least_errors(weight, {above, below}, axis);
  }

  // For each scale, the fraction of it with the smallest error: with few steps, clipping the largest weights of a slice
  // costs less than coarse steps for all others.
  NdArray clipped(const NdArray& weight, const NdArray& scale, std::int64_t axis) const {
    constexpr int kParts = 20, kLeast = 10;
    std::vector<NdArray> scales;
    for (int part = kParts; part >= kLeast; --part) {
      scales.push_back(scale);
      for (std::int64_t i = 0; i < scale.count(); ++i)
        if (const auto less = static_cast<float>(scale.as_double(i) * part / kParts); std::isnormal(less))
          scales.back().set_double(i, less);
    }
    return least_errors(weight, scales, axis);
  }

  // Of each slice, the first of its scales with the least square error.
  NdArray least_errors(const NdArray& weight, const std::vector<NdArray>& choices, std::int64_t axis) const {
    NdArray best = choices.front();
    std::vector<double> least(static_cast<std::size_t>(best.count()), std::numeric_limits<double>::infinity());
    for (const NdArray& scales : choices) {
      const NdArray steps = quantized(weight, scales, axis);
      std::vector<double> sums(least.size());
      for (std::int64_t i = 0; i < weight.count(); ++i) {
        const std::int64_t slice = scales.rank() == 0 ? 0 : slice_of(weight, axis, i);
        const double error = weight.as_double(i) - steps.as_double(i) * scales.as_double(slice);
        sums[static_cast<std::size_t>(slice)] += error * error;
      }
      for (std::size_t i = 0; i < least.size(); ++i)
        if (sums[i] < least[i]) {
          least[i] = sums[i];
          best.set_double(static_cast<std::int64_t>(i), scales.as_double(static_cast<std::int64_t>(i)));
        }
    }
    return best;
  }

  NdArray quantized(const NdArray& real, const NdArray& scale, std::int64_t axis) const {
    const double most = weights_.most();
    NdArray steps(DType::int8, real.shape());
    for (std::int64_t i = 0; i < real.count(); ++i) {
      const double step =
          std::nearbyint(real.as_double(i) / scale.as_double(scale.rank() == 0 ? 0 : slice_of(real, axis, i)));
      steps.set_int64(i, static_cast<std::int64_t>(std::clamp(step, -most, most)));
    }
    return steps;
  }

  void quantize_bias(NodeId id, const NdArray& weight_scale, float x_scale) {
    const Node node = graph_.node(id);
    const ValueId bias = node.inputs[2];
    const NdArray& real = *graph_.value(bias).constant;
    if (real.rank() != 1 || (node.op == "Gemm" && (graph::float_attribute(node, "alpha", 1) != 1 ||
                                                   graph::float_attribute(node, "beta", 1) != 1)))
      return;
    if (weight_scale.rank() == 1 && weight_scale.count() != real.count()) return;
    NdArray scale(DType::float32, weight_scale.shape()), steps(DType::int32, real.shape());
    for (std::int64_t i = 0; i < scale.count(); ++i)
      scale.set_double(i, static_cast<double>(x_scale) * weight_scale.as_double(i));
    for (std::int64_t i = 0; i < real.count(); ++i) {
      const double product = scale.as_double(scale.rank() == 0 ? 0 : i),
                   step = std::nearbyint(real.as_double(i) / product);
      if (!std::isnormal(static_cast<float>(product)) || std::abs(step) >= 0x1p30)
        return;  // stays float: lower_qdq rounds it, or reports why it cannot
      steps.set_int64(i, static_cast<std::int64_t>(step));
    }
    const std::string name = graph_.value(bias).name;
    const graph::TensorType type = graph_.value(bias).type;
    const ValueId back = graph_.add_value(name + "/real", type);
    const ValueId steps_id = graph_.add_constant(steps_name(name), std::move(steps)),
                  scale_id = graph_.add_constant(name + "/scale", scale);
    graph::Attributes attributes;
    if (scale.rank() == 1) attributes["axis"] = std::int64_t{0};
    add("DequantizeLinear", name + "/dequantize", {steps_id, scale_id}, back, attributes, node.origins);
    graph_.edit(id)->inputs[2] = back;
  }

  Graph& graph_;
  const WeightGrid weights_;
  struct Dequantized {
    ValueId value;
    NdArray scale;
  };
  std::map<ValueId, float> scales_;             // scales of dequantized activations
  std::map<ValueId, Dequantized> dequantized_;  // weights, which several nodes may share
};

}  // namespace

std::string steps_name(const std::string& value) { return value + "/steps"; }

bool has_weight(const Node& node) { return kind_of(node) == Kind::weighted; }

std::int64_t output_axis(const Node& node, int weight_rank) {
  if (node.op == "ConvTranspose") return 1;
  return node.op == "Conv" || (node.op == "Gemm" && graph::int_attribute(node, "transB", 0) != 0) ? 0 : weight_rank - 1;
}

std::int64_t slice_of(const NdArray& array, std::int64_t axis, std::int64_t position) {
  std::int64_t inner = 1;
  for (auto i = static_cast<std::size_t>(axis) + 1; i < array.shape().size(); ++i) inner *= array.shape()[i];
  return position / inner % array.shape()[static_cast<std::size_t>(axis)];
}

std::optional<NdArray> real_constant(const Graph& graph, ValueId value) {
  if (!value.valid()) return std::nullopt;
  if (graph.is_constant(value)) return graph.value(value).constant;
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).op != "DequantizeLinear") return std::nullopt;
  const Node& node = graph.node(producer);
  if (!graph.is_constant(node.inputs[0]) || !graph.is_constant(node.inputs[1])) return std::nullopt;
  const NdArray &steps = *graph.value(node.inputs[0]).constant, &scale = *graph.value(node.inputs[1]).constant;
  const std::int64_t axis = graph::int_attribute(node, "axis", 1);
  NdArray real(DType::float32, steps.shape());
  for (std::int64_t i = 0; i < steps.count(); ++i)
    real.set_double(i, steps.as_double(i) * scale.as_double(scale.rank() == 0 ? 0 : slice_of(steps, axis, i)));
  return real;
}

Places find_places(const Graph& graph, const std::vector<std::string>& kept) { return Finder(graph, kept).run(); }

void insert_qdq(Graph& graph, const Places& places, const std::map<ValueId, Quantization>& ranges,
                const WeightGrid& weights) {
  const std::vector<NodeId> nodes = graph.topological_order();
  Inserter inserter(graph, weights);
  for (const auto& [value, q] : ranges) inserter.quantize_activation(value, q);
  for (const NodeId id : nodes) {
    if (std::ranges::count(places.float_nodes, graph.node(id).name, &std::pair<std::string, std::string>::first) > 0)
      continue;
    if (has_weight(graph.node(id))) inserter.quantize_weight(id);
    else if (places.factors.contains(id)) inserter.quantize_factors(id);
  }
}

}  // namespace dovetail::quantize

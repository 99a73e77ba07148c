#include "compiler/target/onednn/rows.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/ops/window.h"

namespace dovetail::onednn {

using bundle::OnednnKind;
using bundle::OnednnOperation;
using graph::Graph;
using graph::Node;
using graph::ValueId;
using pattern::Found;

namespace {

const Shape& shape_of(const Graph& graph, ValueId value) { return graph.value(value).type.shape; }

const Node* find_node(const Graph& graph, const Found& found, std::string_view op) {
  for (const graph::NodeId id : found.nodes)
    if (graph.node(id).op == op) return &graph.node(id);
  return nullptr;
}

Diagnostic refuse(std::string why) {
  return {"oneDNN does not take it", "", std::move(why), "leave it to another target"};
}

// What an activation at the end of a match clamps to.
Result<void> take_clamp(const Graph& graph, const Found& found, OnednnOperation& operation) {
  if (find_node(graph, found, "Relu") != nullptr) operation.least = 0;
  const Node* clip = find_node(graph, found, "Clip");
  if (clip == nullptr) return {};
  std::optional<double>* const bounds[] = {&operation.least, &operation.most};
  for (std::size_t i = 1; i < std::min<std::size_t>(clip->inputs.size(), 3); ++i) {
    if (!clip->inputs[i].valid()) continue;
    const auto& bound = graph.value(clip->inputs[i]).constant;
    if (!bound) return refuse("a bound of its Clip is no constant");
    *bounds[i - 1] = bound->as_double(0);
  }
  return {};
}

// The last node's result, computed from these values.
Result<std::any> body(const Graph& graph, const Found& found, OnednnOperation operation, std::vector<ValueId> operands,
                      std::shared_ptr<const NdArray> weights = nullptr) {
  DOVETAIL_TRY(take_clamp(graph, found, operation));
  return std::any(
      Body{std::move(operation), std::move(operands), graph.node(found.nodes.back()).outputs[0], std::move(weights)});
}

Result<ops::Window> windows_of(const Graph& graph, const Node& node, const Shape& kernel) {
  if (kernel.size() > 3)
    return refuse(fmt::format("its windows have {} axes, the library's have 1 to 3", kernel.size()));
  return ops::make_window({graph, node}, kernel);
}

void set_windows(const ops::Window& window, OnednnOperation& operation) {
  operation.strides = window.strides;
  operation.dilations = window.dilations;
  operation.pad_begin = window.pad_begin;
  // As many as the last window touches, which may be fewer than the model has, or more where it rounds up.
  for (std::size_t axis = 0; axis < window.rank(); ++axis)
    operation.pad_end.push_back(
        std::max<std::int64_t>(0, window.touched(axis) - window.input[axis] - window.pad_begin[axis]));
}

// The int8 weights of dovetail.wconv and dovetail.wgemm as floats: (w - zero point) * scale, by output, which is axis
// `axis`. Error: something of it is no constant.
Result<std::shared_ptr<const NdArray>> dequantised(const Graph& graph, const Node& node, std::size_t axis) {
  const auto constant = [&](std::size_t i) -> const NdArray* {
    if (i >= node.inputs.size() || !node.inputs[i].valid()) return nullptr;
    const auto& value = graph.value(node.inputs[i]).constant;
    return value ? &*value : nullptr;
  };
  const NdArray *weights = constant(1), *scale = constant(2), *zero = constant(4);
  const bool has_zero = node.inputs.size() > 4 && node.inputs[4].valid();
  if (weights == nullptr || scale == nullptr || (has_zero && zero == nullptr))
    return refuse("its weights, their scales or zero points are no constants");
  auto floats = std::make_shared<NdArray>(DType::float32, weights->shape());
  const Shape& shape = weights->shape();
  const std::int64_t inner = element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
  for (std::int64_t i = 0; i < weights->count(); ++i) {
    const std::int64_t output = i / inner % shape[axis];
    const auto real = static_cast<float>(weights->as_int64(i) - (zero == nullptr ? 0 : zero->as_int64(output)));
    floats->data<float>()[static_cast<std::size_t>(i)] = real * static_cast<float>(scale->as_double(output));
  }
  return std::shared_ptr<const NdArray>(std::move(floats));
}

Result<std::any> take_convolution(const Graph& graph, const Found& found) {
  const Node* dense = find_node(graph, found, "Conv");
  const Node& node = dense != nullptr ? *dense : *find_node(graph, found, "dovetail.wconv");
  OnednnOperation operation{.kind = OnednnKind::convolution};
  const Shape& weights = shape_of(graph, node.inputs[1]);
  DOVETAIL_ASSIGN(const ops::Window window, windows_of(graph, node, Shape(weights.begin() + 2, weights.end())));
  set_windows(window, operation);
  operation.groups = graph::int_attribute(node, "group", 1);
  std::vector<ValueId> operands{node.inputs[0], node.inputs[1]};
  const std::size_t bias = dense != nullptr ? 2 : 3;
  if (node.inputs.size() > bias && node.inputs[bias].valid()) operands.push_back(node.inputs[bias]);
  if (dense != nullptr) return body(graph, found, std::move(operation), std::move(operands));
  DOVETAIL_ASSIGN(auto floats, dequantised(graph, node, 0));
  return body(graph, found, std::move(operation), std::move(operands), std::move(floats));
}

// Of n columns, whatever ones stand in front.
bool is_row(const Shape& shape, std::int64_t columns) {
  return !shape.empty() && shape.back() == columns && element_count(shape) == columns;
}

Result<std::any> take_gemm(const Graph& graph, const Found& found) {
  const Node& node = *find_node(graph, found, "Gemm");
  const double alpha = graph::float_attribute(node, "alpha", 1), beta = graph::float_attribute(node, "beta", 1);
  if (alpha != 1 || beta != 1)
    return refuse(fmt::format("alpha and beta are {} and {}, only 1 and 1 are taken", alpha, beta));
  OnednnOperation operation{.kind = OnednnKind::product,
                            .transposed_a = graph::int_attribute(node, "transA", 0) != 0,
                            .transposed_b = graph::int_attribute(node, "transB", 0) != 0};
  std::vector<ValueId> operands{node.inputs[0], node.inputs[1]};
  if (node.inputs.size() > 2 && node.inputs[2].valid()) {
    const Shape& bias = shape_of(graph, node.inputs[2]);
    const std::int64_t columns = shape_of(graph, node.outputs[0])[1];
    if (!is_row(bias, columns))
      return refuse(fmt::format("its third operand has the shape {}, a bias has [{}]", to_string(bias), columns));
    operands.push_back(node.inputs[2]);
  }
  return body(graph, found, std::move(operation), std::move(operands));
}

Result<std::any> take_weight_only_gemm(const Graph& graph, const Found& found) {
  const Node& node = *find_node(graph, found, "dovetail.wgemm");
  DOVETAIL_ASSIGN(auto weights, dequantised(graph, node, 1));
  std::vector<ValueId> operands{node.inputs[0], node.inputs[1]};
  if (node.inputs.size() > 3 && node.inputs[3].valid()) operands.push_back(node.inputs[3]);
  return body(graph, found, {.kind = OnednnKind::product}, std::move(operands), std::move(weights));
}

Result<std::any> take_matmul(const Graph& graph, const Found& found) {
  const Node& node = *find_node(graph, found, "MatMul");
  OnednnOperation operation{.kind = OnednnKind::product};
  for (const ValueId operand : node.inputs)
    if (shape_of(graph, operand).size() < 2)
      return refuse(fmt::format("an operand has the shape {}, products take 2 axes and more",
                                to_string(shape_of(graph, operand))));
  std::vector<ValueId> operands = node.inputs;
  if (const auto bias = found.values.find("bias"); bias != found.values.end()) {
    const std::int64_t columns = shape_of(graph, node.outputs[0]).back();
    if (!is_row(shape_of(graph, bias->second), columns))
      return refuse(fmt::format("what it adds has the shape {}, a bias has [{}]",
                                to_string(shape_of(graph, bias->second)), columns));
    if (const Shape& bias_shape = shape_of(graph, bias->second);
        bias_shape.size() > shape_of(graph, node.outputs[0]).size())
      return refuse("what it adds has more axes than the product");
    operands.push_back(bias->second);
  }
  return body(graph, found, std::move(operation), std::move(operands));
}

Result<std::any> take_pool(const Graph& graph, const Found& found) {
  const Node& node = graph.node(found.nodes.back());
  if (node.outputs.size() > 1 && node.outputs[1].valid()) return refuse("the places of its maxima are asked for");
  OnednnOperation operation{.kind = OnednnKind::maximum};
  DOVETAIL_ASSIGN(const ops::Window whole, windows_of(graph, node, graph::ints_attribute(node, "kernel_shape", {})));
  // The library would visit every tap, those too that meet padding alone wherever the window is.
  const ops::Window window = whole.clipped();
  for (std::size_t axis = 0; axis < window.rank(); ++axis)
    if (window.touched(axis) + window.strides[axis] <= window.input[axis] + window.pad_begin[axis])
      return refuse("without the taps that meet padding alone, its windows have more places than it has results");
  operation.kernel = window.kernel;
  set_windows(window, operation);
  if (node.op == "AveragePool") {
    const bool counts = graph::int_attribute(node, "count_include_pad", 0) != 0;
    // What lies behind the model's own pads is not counted; the library would count it.
    if (counts && graph::int_attribute(node, "ceil_mode", 0) != 0)
      return refuse("its windows count pads and may end behind them (ceil_mode)");
    if (counts && window.kernel != whole.kernel) return refuse("it counts taps that meet padding alone");
    operation.kind = counts ? OnednnKind::average_of_pads : OnednnKind::average;
  }
  return body(graph, found, std::move(operation), {node.inputs[0]});
}

Result<std::any> take_global_pool(const Graph& graph, const Found& found) {
  const Node& node = graph.node(found.nodes.back());
  const Shape& x = shape_of(graph, node.inputs[0]);
  if (x.size() > 5) return refuse(fmt::format("its windows have {} axes, the library's have 1 to 3", x.size() - 2));
  OnednnOperation operation{.kind = node.op == "GlobalMaxPool" ? OnednnKind::maximum : OnednnKind::average};
  operation.kernel.assign(x.begin() + 2, x.end());
  operation.strides = operation.dilations = Shape(operation.kernel.size(), 1);
  operation.pad_begin = operation.pad_end = Shape(operation.kernel.size(), 0);
  return body(graph, found, std::move(operation), {node.inputs[0]});
}

Result<std::any> take_sum(const Graph& graph, const Found& found) {
  const ValueId a = found.values.at("a"), b = found.values.at("b");
  if (shape_of(graph, a) != shape_of(graph, b))
    return refuse(fmt::format("its operands have the shapes {} and {}, equal ones are taken",
                              to_string(shape_of(graph, a)), to_string(shape_of(graph, b))));
  if (graph.is_constant(a) || graph.is_constant(b)) return refuse("an operand is a constant");
  if (shape_of(graph, a).empty() || shape_of(graph, a).size() > 5)
    return refuse(fmt::format("its operands have {} axes, 1 to 5 are taken", shape_of(graph, a).size()));
  return body(graph, found, {.kind = OnednnKind::sum}, {a, b});
}

Result<std::any> take_concatenation(const Graph& graph, const Found& found) {
  const Node& node = graph.node(found.nodes.back());
  const auto rank = static_cast<std::int64_t>(shape_of(graph, node.inputs[0]).size());
  for (const ValueId operand : node.inputs)
    if (graph.is_constant(operand)) return refuse("an operand is a constant");
  std::int64_t axis = graph::int_attribute(node, "axis", 0);
  if (axis < 0) axis += rank;
  if (rank > 5) return refuse(fmt::format("its operands have {} axes, the most taken is 5", rank));
  return body(graph, found, {.kind = OnednnKind::concatenation, .axis = static_cast<std::uint64_t>(axis)}, node.inputs);
}

// Every tensor has elements, and is one of float32.
decltype(PatternRow::take) of_floats(Result<std::any> (*take)(const Graph&, const Found&)) {
  return [take](const Graph& graph, const Found& found) -> Result<std::any> {
    DOVETAIL_ASSIGN(std::any taken, take(graph, found));
    const Body& body = std::any_cast<const Body&>(taken);
    std::vector<ValueId> values = body.operands;
    values.push_back(body.result);
    for (const ValueId value : values) {
      const graph::TensorType& type = graph.value(value).type;
      const bool made = body.weights != nullptr && value == body.operands[1];
      if (type.dtype != DType::float32 && !made)
        return refuse(fmt::format("{} is {}, float32 is taken", graph.value(value).name, name(type.dtype)));
      if (element_count(type.shape) == 0) return refuse(fmt::format("{} has no elements", graph.value(value).name));
    }
    return taken;
  };
}

}  // namespace

std::vector<PatternRow> pattern_rows() {
  // The first that takes a node counts: longer patterns come before shorter ones.
  return {
      pattern_row("convolution", "Relu?(Conv|dovetail.wconv(...))", of_floats(take_convolution)),
      pattern_row("convolution", "Clip(Conv|dovetail.wconv(...), ...)", of_floats(take_convolution)),
      pattern_row("dense layer", "Relu?(Gemm(...))", of_floats(take_gemm)),
      pattern_row("dense layer", "Clip(Gemm(...), ...)", of_floats(take_gemm)),
      pattern_row("dense layer", "Relu?(dovetail.wgemm(...))", of_floats(take_weight_only_gemm)),
      pattern_row("dense layer", "Clip(dovetail.wgemm(...), ...)", of_floats(take_weight_only_gemm)),
      pattern_row("product with bias", "Relu?(Add~(MatMul(_, _), bias=#))", of_floats(take_matmul)),
      pattern_row("product", "Relu?(MatMul(_, _))", of_floats(take_matmul)),
      pattern_row("pool", "MaxPool|AveragePool(_)", of_floats(take_pool)),
      pattern_row("pool", "GlobalAveragePool|GlobalMaxPool(_)", of_floats(take_global_pool)),
      pattern_row("sum", "Relu?(Add(a=_, b=_))", of_floats(take_sum)),
      pattern_row("sum", "Clip(Add(a=_, b=_), ...)", of_floats(take_sum)),
      pattern_row("concatenation", "Concat(...)", of_floats(take_concatenation)),
  };
}

}  // namespace dovetail::onednn

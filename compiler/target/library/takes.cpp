#include "compiler/target/library/takes.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ops/op.h"
#include "compiler/ops/window.h"

namespace dovetail::library {

using bundle::LibraryKind;
using bundle::LibraryOperation;
using graph::Graph;
using graph::Node;
using graph::ValueId;
using pattern::Found;

graph::TensorType operand_type(const Graph& graph, const Body& body, std::size_t operand) {
  if (const auto made = body.made.find(operand); made != body.made.end())
    return {made->second->dtype(), made->second->shape()};
  return graph.value(body.operands[operand]).type;
}

Diagnostic refuse(std::string why) {
  return {"the vendor library does not support the operation", "", std::move(why),
          "choose another target for the node"};
}

namespace {

using Made = std::map<std::size_t, std::shared_ptr<const NdArray>>;

const Shape& shape_of(const Graph& graph, ValueId value) { return graph.value(value).type.shape; }

const Node* find_node(const Graph& graph, const Found& found, std::string_view op) {
  for (const graph::NodeId id : found.nodes)
    if (graph.node(id).op == op) return &graph.node(id);
  return nullptr;
}

// Adds the activation at the end of a match to the operation.
Result<void> take_activation(const Graph& graph, const Found& found, LibraryOperation& operation) {
  if (const Node* gelu = find_node(graph, found, "Gelu"); gelu != nullptr) {
    if (graph::string_attribute(*gelu, "approximate", "none") != "tanh")
      return refuse("the GELU is exact, but the vendor library has only the tanh approximation");
    operation.gelu = true;
  }
  if (find_node(graph, found, "Relu") != nullptr) operation.least = 0;
  const Node* clip = find_node(graph, found, "Clip");
  if (clip == nullptr) return {};
  std::optional<double>* const bounds[] = {&operation.least, &operation.most};
  for (std::size_t i = 1; i < std::min<std::size_t>(clip->inputs.size(), 3); ++i) {
    if (!clip->inputs[i].valid()) continue;
    const auto& bound = graph.value(clip->inputs[i]).constant;
    if (!bound) return refuse("a bound of the Clip is not a constant");
    *bounds[i - 1] = bound->as_double(0);
  }
  return {};
}

// The operation that computes the last node's result from these values.
Result<Body> body(const Graph& graph, const Found& found, LibraryOperation operation, std::vector<ValueId> operands,
                  Made made = {}) {
  DOVETAIL_TRY(take_activation(graph, found, operation));
  return Body{std::move(operation), std::move(operands), graph.node(found.nodes.back()).outputs[0], std::move(made)};
}

Result<ops::Window> windows_of(const Graph& graph, const Node& node, const Shape& kernel) {
  if (kernel.size() > 3)
    return refuse(
        fmt::format("the windows have {} spatial dimensions, but the vendor library supports 1 to 3", kernel.size()));
  return ops::make_window({graph, node}, kernel);
}

void set_windows(const ops::Window& window, LibraryOperation& operation) {
  operation.strides = window.strides;
  operation.dilations = window.dilations;
  operation.pad_begin = window.pad_begin;
  // The extent covered by windows, which may be less than the model's, or more if it rounds up.
  for (std::size_t axis = 0; axis < window.rank(); ++axis)
    operation.pad_end.push_back(
        std::max<std::int64_t>(0, window.touched(axis) - window.input[axis] - window.pad_begin[axis]));
}

// The int8 weights of dovetail.wconv and dovetail.wgemm as floats: (w - zero point) * scale, per output, which is axis
// `axis`. Error: an operand is not constant.
Result<std::shared_ptr<const NdArray>> dequantized(const Graph& graph, const Node& node, std::size_t axis) {
  const auto constant = [&](std::size_t i) -> const NdArray* {
    if (i >= node.inputs.size() || !node.inputs[i].valid()) return nullptr;
    const auto& value = graph.value(node.inputs[i]).constant;
    return value ? &*value : nullptr;
  };
  const NdArray *weights = constant(1), *scale = constant(2), *zero = constant(4);
  const bool has_zero = node.inputs.size() > 4 && node.inputs[4].valid();
  if (weights == nullptr || scale == nullptr || (has_zero && zero == nullptr))
    return refuse("the weights, their scales or zero points are not constants");
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

// Whether the shape is a row of n columns, with any leading extents of 1.
bool is_row(const Shape& shape, std::int64_t columns) {
  return !shape.empty() && shape.back() == columns && element_count(shape) == columns;
}

// The addend of a Gemm: a row or a matrix unchanged; other constants are replaced, with beta folded in if floats stay
// exact to the reference's rounding.
Result<void> add_third(const Graph& graph, const Node& node, double beta, LibraryOperation& operation,
                       std::vector<ValueId>& operands, Made& made) {
  if (node.inputs.size() < 3 || !node.inputs[2].valid() || beta == 0) return {};
  const auto& value = graph.value(node.inputs[2]);
  const Shape& shape = value.type.shape;
  const Shape& result = shape_of(graph, node.outputs[0]);
  const bool fits = is_row(shape, result[1]) || shape == result;
  const bool scales = beta != 1 && value.constant && value.type.dtype == DType::float32;
  operands.push_back(node.inputs[2]);
  if (!scales) operation.addend_scale = beta;
  if (fits && !scales) return {};
  if (!value.constant)
    return refuse(fmt::format("the third operand has shape {}, but a bias needs [{}]", to_string(shape), result[1]));
  const bool same_rows = shape.size() < 2 || shape[0] == 1;
  auto spread = std::make_shared<NdArray>(value.type.dtype, same_rows ? Shape{result[1]} : result);
  for (std::int64_t i = 0; i < spread->count(); ++i) {
    const std::int64_t row = i / result[1], column = i % result[1];
    const std::int64_t width = shape.empty() ? 1 : shape.back();
    const double c = value.constant->as_double((same_rows ? 0 : row * width) + (width == 1 ? 0 : column));
    spread->set_double(i, scales ? static_cast<double>(static_cast<float>(beta) * static_cast<float>(c)) : c);
  }
  made[2] = std::move(spread);
  return {};
}

// Adds the matrix that is added after a product and its bias, if the match has one.
Result<void> add_residual(const Graph& graph, const Found& found, const Node& product,
                          const LibraryOperation& operation, std::vector<ValueId>& operands, const Made& made = {}) {
  const auto residual = found.values.find("residual");
  if (residual == found.values.end()) return {};
  const Shape &shape = shape_of(graph, residual->second), &result = shape_of(graph, product.outputs[0]);
  if (shape != result)
    return refuse(fmt::format("the addend has shape {}, but the product has {}", to_string(shape), to_string(result)));
  if (operands.size() > 2) {
    const auto spread = made.find(2);
    const Shape& bias = spread != made.end() ? spread->second->shape() : shape_of(graph, operands[2]);
    if (!is_row(bias, result.back()) || operation.addend_scale != 1)
      return refuse(
          fmt::format("the operation adds {} times {} and a matrix, but the vendor library adds an unscaled bias of "
                      "[{}] and a matrix",
                      to_string(bias), operation.addend_scale, result.back()));
  }
  operands.push_back(residual->second);
  return {};
}

}  // namespace

Result<Body> take_convolution(const Graph& graph, const Found& found) {
  const Node* dense = find_node(graph, found, "Conv");
  const Node& node = dense != nullptr ? *dense : *find_node(graph, found, "dovetail.wconv");
  LibraryOperation operation{.kind = LibraryKind::convolution};
  const Shape& weights = shape_of(graph, node.inputs[1]);
  DOVETAIL_ASSIGN(const ops::Window window, windows_of(graph, node, Shape(weights.begin() + 2, weights.end())));
  set_windows(window, operation);
  operation.groups = graph::int_attribute(node, "group", 1);
  std::vector<ValueId> operands{node.inputs[0], node.inputs[1]};
  const std::size_t bias = dense != nullptr ? 2 : 3;
  if (node.inputs.size() > bias && node.inputs[bias].valid()) operands.push_back(node.inputs[bias]);
  if (const auto residual = found.values.find("residual"); residual != found.values.end()) {
    const Shape &shape = shape_of(graph, residual->second), &result = shape_of(graph, node.outputs[0]);
    if (shape != result)
      return refuse(fmt::format("the addend has shape {}, but the convolution's result has {}", to_string(shape),
                                to_string(result)));
    if (operands.size() < 3)
      return refuse("the convolution has no bias, which the vendor library requires before adding a tensor");
    operands.push_back(residual->second);
  }
  if (dense != nullptr) return body(graph, found, std::move(operation), std::move(operands));
  DOVETAIL_ASSIGN(auto floats, dequantized(graph, node, 0));
  return body(graph, found, std::move(operation), std::move(operands), {{1, std::move(floats)}});
}

Result<Body> take_gemm(const Graph& graph, const Found& found) {
  const Node& node = *find_node(graph, found, "Gemm");
  LibraryOperation operation{.kind = LibraryKind::product,
                             .transposed_a = graph::int_attribute(node, "transA", 0) != 0,
                             .transposed_b = graph::int_attribute(node, "transB", 0) != 0,
                             .scale = graph::float_attribute(node, "alpha", 1)};
  std::vector<ValueId> operands{node.inputs[0], node.inputs[1]};
  Made made;
  DOVETAIL_TRY(add_third(graph, node, graph::float_attribute(node, "beta", 1), operation, operands, made));
  DOVETAIL_TRY(add_residual(graph, found, node, operation, operands, made));
  return body(graph, found, std::move(operation), std::move(operands), std::move(made));
}

Result<Body> take_weight_only_gemm(const Graph& graph, const Found& found) {
  const Node& node = *find_node(graph, found, "dovetail.wgemm");
  DOVETAIL_ASSIGN(auto weights, dequantized(graph, node, 1));
  std::vector<ValueId> operands{node.inputs[0], node.inputs[1]};
  if (node.inputs.size() > 3 && node.inputs[3].valid()) operands.push_back(node.inputs[3]);
  LibraryOperation operation{.kind = LibraryKind::product};
  DOVETAIL_TRY(add_residual(graph, found, node, operation, operands));
  return body(graph, found, std::move(operation), std::move(operands), {{1, std::move(weights)}});
}

Result<Body> take_matmul(const Graph& graph, const Found& found) {
  const Node& node = *find_node(graph, found, "MatMul");
  LibraryOperation operation{.kind = LibraryKind::product};
  for (const ValueId operand : node.inputs)
    if (shape_of(graph, operand).size() < 2)
      return refuse(fmt::format("an operand has shape {}, but products need at least 2 dimensions",
                                to_string(shape_of(graph, operand))));
  std::vector<ValueId> operands = node.inputs;
  if (const auto bias = found.values.find("bias"); bias != found.values.end()) {
    const std::int64_t columns = shape_of(graph, node.outputs[0]).back();
    if (!is_row(shape_of(graph, bias->second), columns))
      return refuse(fmt::format("the addend has shape {}, but a bias needs [{}]",
                                to_string(shape_of(graph, bias->second)), columns));
    if (const Shape& bias_shape = shape_of(graph, bias->second);
        bias_shape.size() > shape_of(graph, node.outputs[0]).size())
      return refuse("the addend has more dimensions than the product");
    operands.push_back(bias->second);
  }
  DOVETAIL_TRY(add_residual(graph, found, node, operation, operands));
  return body(graph, found, std::move(operation), std::move(operands));
}

Result<Body> take_pool(const Graph& graph, const Found& found) {
  const Node& node = graph.node(found.nodes.back());
  if (node.outputs.size() > 1 && node.outputs[1].valid())
    return refuse("the indices of the maxima (output 1) are used");
  LibraryOperation operation{.kind = LibraryKind::maximum};
  DOVETAIL_ASSIGN(const ops::Window whole, windows_of(graph, node, graph::ints_attribute(node, "kernel_shape", {})));
  // The library would visit every tap, including those that cover only padding for every window.
  const ops::Window window = whole.clipped();
  for (std::size_t axis = 0; axis < window.rank(); ++axis)
    if (window.touched(axis) + window.strides[axis] <= window.input[axis] + window.pad_begin[axis])
      return refuse(
          "without the taps that cover only padding, the windows have more positions than the result has elements");
  operation.kernel = window.kernel;
  set_windows(window, operation);
  if (node.op == "AveragePool") {
    const bool counts = graph::int_attribute(node, "count_include_pad", 0) != 0;
    // Elements beyond the model's pads are not counted, but the library would count them.
    if (counts && graph::int_attribute(node, "ceil_mode", 0) != 0)
      return refuse("the pooling counts padding, and its windows may end after the padding (ceil_mode)");
    if (counts && window.kernel != whole.kernel) return refuse("the pooling counts taps that cover only padding");
    operation.kind = counts ? LibraryKind::average_of_pads : LibraryKind::average;
  }
  return body(graph, found, std::move(operation), {node.inputs[0]});
}

Result<Body> take_global_pool(const Graph& graph, const Found& found) {
  const Node& node = graph.node(found.nodes.back());
  const Shape& x = shape_of(graph, node.inputs[0]);
  if (x.size() > 5)
    return refuse(
        fmt::format("the windows have {} spatial dimensions, but the vendor library supports 1 to 3", x.size() - 2));
  LibraryOperation operation{.kind = node.op == "GlobalMaxPool" ? LibraryKind::maximum : LibraryKind::average};
  operation.kernel.assign(x.begin() + 2, x.end());
  operation.strides = operation.dilations = Shape(operation.kernel.size(), 1);
  operation.pad_begin = operation.pad_end = Shape(operation.kernel.size(), 0);
  return body(graph, found, std::move(operation), {node.inputs[0]});
}

Result<Body> take_sum(const Graph& graph, const Found& found) {
  const ValueId a = found.values.at("a"), b = found.values.at("b");
  if (shape_of(graph, a) != shape_of(graph, b))
    return refuse(fmt::format("the operands have shapes {} and {}, which must be equal", to_string(shape_of(graph, a)),
                              to_string(shape_of(graph, b))));
  if (graph.is_constant(a) || graph.is_constant(b)) return refuse("an operand is a constant");
  if (shape_of(graph, a).empty() || shape_of(graph, a).size() > 5)
    return refuse(fmt::format("the operands have {} dimensions, but 1 to 5 are supported", shape_of(graph, a).size()));
  return body(graph, found, {.kind = LibraryKind::sum}, {a, b});
}

Result<Body> take_concatenation(const Graph& graph, const Found& found) {
  const Node& node = graph.node(found.nodes.back());
  const auto rank = static_cast<std::int64_t>(shape_of(graph, node.inputs[0]).size());
  for (const ValueId operand : node.inputs)
    if (graph.is_constant(operand)) return refuse("an operand is a constant");
  std::int64_t axis = graph::int_attribute(node, "axis", 0);
  if (axis < 0) axis += rank;
  if (rank > 5) return refuse(fmt::format("the operands have {} dimensions, but at most 5 are supported", rank));
  return body(graph, found, {.kind = LibraryKind::concatenation, .axis = static_cast<std::uint64_t>(axis)},
              node.inputs);
}

Result<Body> take_integer_matmul(const Graph& graph, const Found& found) {
  const Node& node = *find_node(graph, found, "MatMulInteger");
  for (std::size_t i = 2; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    const auto& zero = graph.value(node.inputs[i]).constant;
    if (!zero) return refuse("a zero point is not a constant");
    for (std::int64_t k = 0; k < zero->count(); ++k)
      if (zero->as_int64(k) != 0)
        return refuse(fmt::format("a zero point is {}, but only 0 is supported", zero->as_int64(k)));
  }
  for (const ValueId operand : {node.inputs[0], node.inputs[1]})
    if (shape_of(graph, operand).size() < 2)
      return refuse(fmt::format("an operand has shape {}, but products need at least 2 dimensions",
                                to_string(shape_of(graph, operand))));
  return body(graph, found, {.kind = LibraryKind::product}, {node.inputs[0], node.inputs[1]});
}

Result<Body> take_softmax(const Graph& graph, const Found& found) {
  const Node& node = graph.node(found.nodes.back());
  const auto rank = static_cast<std::int64_t>(shape_of(graph, node.inputs[0]).size());
  std::int64_t axis = graph::int_attribute(node, "axis", -1);
  if (axis < 0) axis += rank;
  return body(graph, found,
              {.kind = node.op == "Softmax" ? LibraryKind::softmax : LibraryKind::log_softmax,
               .axis = static_cast<std::uint64_t>(axis)},
              {node.inputs[0]});
}

namespace {

// Checks the rules of library_facts, with diagnostics in terms of the graph.
Result<void> check_facts(const bundle::LibraryFacts& facts, const Graph& graph, const Body& body) {
  const LibraryOperation& operation = body.operation;
  const graph::TensorType& result = graph.value(body.result).type;
  const bool integer = facts.integer_products && operation.kind == LibraryKind::product && body.operands.size() == 2 &&
                       result.dtype == DType::int32;
  const auto check = [&](ValueId value, const graph::TensorType& type, bool is_result) -> Result<void> {
    if (element_count(type.shape) == 0) return refuse(fmt::format("{} has no elements", graph.value(value).name));
    if (integer && (is_result || type.dtype == DType::int8)) return {};
    if (!integer && std::ranges::find(facts.floats, type.dtype) != facts.floats.end()) return {};
    std::vector<std::string_view> taken;
    for (const DType dtype : facts.floats) taken.push_back(name(dtype));
    return refuse(fmt::format("{} is {}, but only {} is supported", graph.value(value).name, name(type.dtype),
                              integer ? "int8" : fmt::format("{}", fmt::join(taken, " or "))));
  };
  for (std::size_t i = 0; i < body.operands.size(); ++i)
    DOVETAIL_TRY(check(body.operands[i], operand_type(graph, body, i), false));
  DOVETAIL_TRY(check(body.result, result, true));
  if (operation.kind == LibraryKind::product && !facts.scales) {
    if (operation.scale != 1 || operation.addend_scale != 1)
      return refuse(
          fmt::format("alpha and beta are {} and {}, but must be 1", operation.scale, operation.addend_scale));
    if (body.operands.size() > 2 && !is_row(operand_type(graph, body, 2).shape, result.shape.back()))
      return refuse(fmt::format("the third operand has shape {}, but a bias needs [{}]",
                                to_string(operand_type(graph, body, 2).shape), result.shape.back()));
  }
  if (!operation.least && !operation.most) return {};
  const auto bound = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "none"; };
  if (facts.clamping == bundle::Clamping::relu && (operation.least.value_or(-1) != 0 || operation.most))
    return refuse(fmt::format("the operation clamps to {} and {}, but the vendor library only from below, to 0",
                              bound(operation.least), bound(operation.most)));
  if (facts.clamping == bundle::Clamping::from_zero && operation.least.value_or(-1) != 0)
    return refuse(fmt::format("the operation clamps to {} and {}, but the vendor library needs the lower bound 0",
                              bound(operation.least), bound(operation.most)));
  return {};
}

}  // namespace

PatternRow library_row(std::string_view target, std::string name, std::string_view pattern, Take take, Fits fits) {
  const bundle::LibraryFacts* const facts = &bundle::library_facts(target);
  return pattern_row(
      std::move(name), pattern,
      [facts, take, fits = std::move(fits)](const Graph& graph, const Found& found) -> Result<TakenPointer> {
        DOVETAIL_ASSIGN(Body taken, take(graph, found));
        DOVETAIL_TRY(check_facts(*facts, graph, taken));
        if (fits) DOVETAIL_TRY(fits(graph, taken));
        return TakenPointer(std::make_shared<const TakenBody>(std::move(taken)));
      });
}

}  // namespace dovetail::library

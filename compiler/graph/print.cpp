// Text of graphs: what --dump shows and text tests compare. Constants of up to eight elements are written out.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "compiler/graph/graph.h"

namespace dovetail::graph {
namespace {

constexpr std::int64_t kPrintedElements = 8;

// Shortest decimal that reads back as the same number; always recognisable as floating ("1.0").
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}
std::string number(std::int64_t value) { return fmt::format("{}", value); }
std::string number(const std::string& value) { return fmt::format("\"{}\"", value); }

template <typename T>
std::string list(const std::vector<T>& items) {
  std::string text = "[";
  for (const T& item : items) text += (text.size() > 1 ? ", " : "") + number(item);
  return text + "]";
}

// A float32 prints as the shortest decimal of its own precision, not of the double that holds it.
std::string element(const NdArray& array, std::int64_t i) {
  if (array.dtype() == DType::float32) {
    std::string text = fmt::format("{}", array.data<float>()[static_cast<std::size_t>(i)]);
    if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
    return text;
  }
  return is_floating(array.dtype()) ? number(array.as_double(i)) : number(array.as_int64(i));
}

// "" for large arrays; " = 3" for scalars; " = [1, 2]" for small arrays, row-major whatever the rank.
std::string elements(const NdArray& array) {
  if (array.count() > kPrintedElements) return "";
  if (array.rank() == 0) return " = " + element(array, 0);
  std::string text;
  for (std::int64_t i = 0; i < array.count(); ++i) text += (i ? ", " : "") + element(array, i);
  return " = [" + text + "]";
}

struct AttributeText {
  std::string operator()(std::int64_t value) const { return number(value); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const std::string& value) const { return number(value); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const { return list(values); }
  std::string operator()(const NdArray& value) const {
    return fmt::format("({}{})", to_string(TensorType{value.dtype(), value.shape()}), elements(value));
  }
};

std::string typed(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids) text += fmt::format("{}%{}: {}", text.empty() ? "" : ", ", graph.value(id).name, to_string(graph.value(id).type));
  return text;
}

std::string names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids) text += (text.empty() ? "" : ", ") + (id.valid() ? "%" + graph.value(id).name : std::string("_"));
  return text;
}

std::string line(const Graph& graph, const Node& node) {
  std::string text = fmt::format("  {} = {}({})", typed(graph, node.outputs), node.op, names(graph, node.inputs));
  if (!node.attributes.empty()) {
    std::string attributes;
    for (const auto& [name, value] : node.attributes)
      attributes += fmt::format("{}{}={}", attributes.empty() ? "" : ", ", name, std::visit(AttributeText{}, value));
    text += " {" + attributes + "}";
  }
  text += "  // " + node.name;
  if (!node.origins.empty() && node.origins != std::vector<std::string>{node.name}) text += fmt::format(" <- {}", fmt::join(node.origins, ", "));
  return text + "\n";
}

}  // namespace

std::string to_string(const TensorType& type) { return std::string(dovetail::name(type.dtype)) + dovetail::to_string(type.shape); }

std::string to_string(const Graph& graph) {
  std::string text = fmt::format("graph {}({}) -> ({})\n", graph.name, typed(graph, graph.inputs), names(graph, graph.outputs));
  std::vector<bool> used(graph.values.size(), false);
  const auto mark = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids)
      if (id.valid()) used[static_cast<std::size_t>(id.index)] = true;
  };
  mark(graph.outputs);
  for (const Node& node : graph.nodes)
    if (!node.removed) mark(node.inputs);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (used[i] && value.constant) text += fmt::format("  constant %{}: {}{}\n", value.name, to_string(value.type), elements(*value.constant));
  }
  for (NodeId id : graph.topological_order()) text += line(graph, graph.node(id));
  return text;
}

}  // namespace dovetail::graph

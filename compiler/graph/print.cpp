// Text of graphs: shown by --dump, compared in text tests, and parsed by parse().
#include <algorithm>
#include <cctype>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "compiler/graph/graph.h"
#include "compiler/graph/parse.h"

namespace dovetail::graph {
namespace {

// Names are bare if the parser can detect their end, else in quotes.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n') result += "\\n";
    else if (c == '"' || c == '\\') (result += '\\') += c;
    else result += c;
  }
  return result + "\"";
}
std::string plain_or_quoted(std::string_view text) { return is_plain_name(text) ? std::string(text) : quoted(text); }

// Shortest decimal that reads back as the same number; always recognizable as floating ("1.0").
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}
std::string number(std::int64_t value) { return fmt::format("{}", value); }
std::string number(const std::string& value) { return graph::quoted(value); }

template <typename T>
std::string list(const std::vector<T>& items) {
  // An empty list names its element kind.
  std::string text = items.empty() && std::is_same_v<T, double>        ? "float["
                     : items.empty() && std::is_same_v<T, std::string> ? "string["
                                                                       : "[";
  for (std::size_t i = 0; i < items.size(); ++i) text += (i ? ", " : "") + number(items[i]);
  return text + "]";
}

// A float32 prints as the shortest decimal of binary32 precision, not of the double that holds it.
std::string element(const NdArray& array, std::int64_t i) {
  if (array.dtype() == DType::float32) {
    std::string text = fmt::format("{}", array.data<float>()[static_cast<std::size_t>(i)]);
    if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
    return text;
  }
  return is_floating(array.dtype()) ? number(array.as_double(i)) : number(array.as_int64(i));
}

bool is_uniform(const NdArray& array) {
  const auto bytes = array.bytes();
  const auto width = static_cast<std::size_t>(size_bytes(array.dtype()));
  return bytes.size() > width &&
         std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(width), bytes.end(), bytes.begin());
}

// " = 3" for scalars; " = [1, 2]" row-major for any rank; for large arrays "" if few elements are requested, else " =
// fill(3)" if all are equal.
std::string elements(const NdArray& array, Elements shown) {
  if (array.count() > kPrintedElements && shown == Elements::few) return "";
  if (array.rank() == 0) return " = " + element(array, 0);
  if (array.count() > kPrintedElements && is_uniform(array)) return fmt::format(" = fill({})", element(array, 0));
  std::string text;
  for (std::int64_t i = 0; i < array.count(); ++i) text += (i ? ", " : "") + element(array, i);
  return " = [" + text + "]";
}

struct AttributeText {
  Elements shown;
  std::string operator()(std::int64_t value) const { return number(value); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const std::string& value) const { return number(value); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return list(values);
  }
  std::string operator()(const NdArray& value) const {
    return fmt::format("({}{})", to_string(TensorType{value.dtype(), value.shape()}), elements(value, shown));
  }
};

std::string typed(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids)
    text += fmt::format("{}%{}: {}", text.empty() ? "" : ", ", plain_or_quoted(graph.value(id).name),
                        to_string(graph.value(id).type));
  return text;
}

std::string names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids)
    text += (text.empty() ? "" : ", ") + (id.valid() ? "%" + plain_or_quoted(graph.value(id).name) : std::string("_"));
  return text;
}

std::string line(const Graph& graph, const Node& node, Elements shown) {
  std::string text = fmt::format("{} = {}({})", typed(graph, node.outputs), node.op, names(graph, node.inputs));
  if (!node.attributes.empty()) {
    std::string attributes;
    for (const auto& [name, value] : node.attributes)
      attributes +=
          fmt::format("{}{}={}", attributes.empty() ? "" : ", ", name, std::visit(AttributeText{shown}, value));
    text += " {" + attributes + "}";
  }
  text += "  // " + plain_or_quoted(node.name);
  if (node.origins.empty() || node.origins == std::vector<std::string>{node.name}) return text + "\n";
  for (std::size_t i = 0; i < node.origins.size(); ++i) text += (i ? ", " : " <- ") + plain_or_quoted(node.origins[i]);
  return text + "\n";
}

}  // namespace

std::string to_string(const TensorType& type) {
  return std::string(dovetail::name(type.dtype)) + dovetail::to_string(type.shape);
}

bool is_plain_name(std::string_view name) {
  constexpr std::string_view kInside = "_./@$+-:;";
  const bool plain = std::all_of(name.begin(), name.end(), [&](unsigned char c) {
    return std::isalnum(c) || kInside.find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain && !name.empty() && name.back() != ':';
}

namespace {

void print(const Graph& graph, Elements shown, const std::string& indent, std::string& text) {
  text += fmt::format("{}graph {}({}) -> ({})", indent, plain_or_quoted(graph.name), typed(graph, graph.inputs),
                      names(graph, graph.outputs));
  for (std::size_t i = 0; i < graph.extents.size(); ++i) {
    const OutputExtent& row = graph.extents[i];
    text += fmt::format("{} %{}[{}]=%{}", i == 0 ? " extents" : ",", plain_or_quoted(row.output), row.axis,
                        plain_or_quoted(row.extent));
  }
  if (graph.apart) text += " apart";
  text += "\n";
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
    if (used[i] && value.constant)
      text += fmt::format("{}  constant %{}: {}{}\n", indent, plain_or_quoted(value.name), to_string(value.type),
                          elements(*value.constant, shown));
  }
  for (NodeId id : graph.topological_order()) {
    text += indent + "  " + line(graph, graph.node(id), shown);
    for (const auto& subgraph : graph.node(id).subgraphs) {
      print(*subgraph, shown, indent + "    ", text);
      text += indent + "    end\n";
    }
  }
}

}  // namespace

std::string to_string(const Graph& graph, Elements shown) {
  std::string text;
  print(graph, shown, "", text);
  return text;
}

}  // namespace dovetail::graph

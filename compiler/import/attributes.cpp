#include "compiler/import/attributes.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "compiler/import/control_flow.h"
#include "compiler/import/messages.h"
#include "compiler/import/tensor_proto.h"

namespace dovetail::import {
namespace {

// Files of early IR versions omit the kind; it then follows from the field that is set.
int kind_of(const onnx::Attribute& attribute) {
  if (attribute.type != undefined) return attribute.type;
  if (attribute.f) return float_kind;
  if (attribute.i) return int_kind;
  if (attribute.s) return string_kind;
  if (attribute.t) return tensor_kind;
  if (attribute.g) return graph_kind;
  if (!attribute.floats.empty()) return floats_kind;
  if (!attribute.ints.empty()) return ints_kind;
  if (!attribute.strings.empty()) return strings_kind;
  if (!attribute.graphs.empty()) return graphs_kind;
  return undefined;
}

Result<graph::Attribute> read_attribute(const onnx::Attribute& attribute, const std::string& where,
                                        ExternalData& external) {
  const auto refused = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot read an attribute", where, std::move(why), std::move(hint)};
  };
  if (!attribute.ref_attr_name.empty())
    return refused("the attribute refers to an attribute of a model function",
                   "inline the model's functions before export");
  switch (kind_of(attribute)) {
    case float_kind: return graph::Attribute{static_cast<double>(attribute.f.value_or(0))};
    case int_kind: return graph::Attribute{attribute.i.value_or(0)};
    case string_kind: return graph::Attribute{printable(attribute.s.value_or(""))};
    case floats_kind: return graph::Attribute{std::vector<double>(attribute.floats.begin(), attribute.floats.end())};
    case ints_kind: return graph::Attribute{std::vector<std::int64_t>(attribute.ints.begin(), attribute.ints.end())};
    case strings_kind: {
      std::vector<std::string> strings;
      for (const std::string& text : attribute.strings) strings.push_back(printable(text));
      return graph::Attribute{std::move(strings)};
    }
    case tensor_kind: {
      const onnx::Tensor none;
      DOVETAIL_ASSIGN(NdArray array, to_ndarray(attribute.t ? *attribute.t : none, where, external));
      return graph::Attribute{std::move(array)};
    }
    case graph_kind:
    case graphs_kind:
      return refused("the attribute is a subgraph, which this operator does not have",
                     "If, Loop and Scan are the supported operators with subgraphs");
    default:
      return refused(fmt::format("attributes of kind {} are not supported", attribute.type),
                     "use numbers, strings, lists of them, or dense tensors");
  }
}

}  // namespace

Result<graph::Attributes> read_attributes(const onnx::Node& node, const std::string& where, ExternalData& external) {
  graph::Attributes attributes;
  Diagnostics findings;
  for (const onnx::Attribute& attribute : node.attributes) {
    if (kind_of(attribute) == graph_kind && is_control_flow(node.op_type)) continue;
    const std::string name = printable(attribute.name);
    auto value = read_attribute(attribute, where + ", attribute " + name, external);
    if (!value) findings.insert(findings.end(), value.errors().begin(), value.errors().end());
    else if (!attributes.emplace(name, *std::move(value)).second)
      findings.push_back({"cannot read an attribute", where, fmt::format("attribute {} is given twice", name),
                          "export the model again"});
  }
  if (!findings.empty()) return findings;
  return attributes;
}

Result<NdArray> constant_value(const graph::Attributes& attributes, const std::string& where) {
  const auto list = [](const auto& values) { return Shape{static_cast<std::int64_t>(values.size())}; };
  if (attributes.size() != 1)
    return Diagnostic{"cannot read a Constant", where,
                      fmt::format("the node has {} attributes, expected 1", attributes.size()),
                      "export the model again"};
  const auto& [attribute, value] = *attributes.begin();
  if (const auto* array = std::get_if<NdArray>(&value)) return *array;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return NdArray::scalar(*integer);
  if (const auto* real = std::get_if<double>(&value)) return NdArray::scalar(static_cast<float>(*real));
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value))
    return NdArray::from<std::int64_t>(list(*integers), *integers);
  if (const auto* reals = std::get_if<std::vector<double>>(&value))
    return NdArray::from<float>(list(*reals), {reals->begin(), reals->end()});
  return Diagnostic{"cannot read a Constant", where,
                    fmt::format("attribute {} of a Constant is neither a tensor nor a number", attribute),
                    "use a tensor or numbers; strings are not supported"};
}

}  // namespace dovetail::import

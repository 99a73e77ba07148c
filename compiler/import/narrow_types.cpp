#include "compiler/import/narrow_types.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "compiler/import/messages.h"

namespace dovetail::import {
namespace {

using NarrowNames = std::map<std::string, int>;  // TensorProto.DataType by the name of a value

// Operators whose results have the type of their first input, including narrow types. Other operators change the type
// or do not take narrow ones.
const std::set<std::string>& kept_by() {
  static const std::set<std::string> operators{"Concat",  "Expand", "Flatten", "Gather", "GatherND",  "Identity", "Pad",
                                               "Reshape", "Slice",  "Squeeze", "Tile",   "Transpose", "Unsqueeze"};
  return operators;
}

void add_attribute(onnx::Node& node, const char* name, std::int64_t value) {
  constexpr int kInteger = 2;
  for (const onnx::Attribute& attribute : node.attributes)
    if (attribute.name == name) return;
  onnx::Attribute& added = node.attributes.emplace_back();
  added.name = name;
  added.i = value;
  added.type = kInteger;
}

// `names` includes those of the enclosing graphs, which subgraphs may use.
void visit(onnx::Graph& graph, NarrowNames narrow) {
  const auto declare = [&](const std::string& name, std::int64_t type) {
    if (find_narrow(type) != nullptr) narrow[name] = static_cast<int>(type);
  };
  for (const onnx::Tensor& tensor : graph.initializers) declare(tensor.name, tensor.data_type);
  for (const onnx::ValueInfo& input : graph.inputs) declare(input.name, input.tensor_type().elem_type);
  for (onnx::Node& node : graph.nodes) {
    for (onnx::Attribute& attribute : node.attributes) {
      if (node.op_type == "Constant" && attribute.t && node.outputs.size() == 1)
        declare(node.outputs[0], attribute.t->data_type);
      if (attribute.g) visit(*attribute.g, narrow);
      for (onnx::Graph& each : attribute.graphs) visit(each, narrow);
    }
    const auto type_of = [&](std::size_t input) {
      const auto found = input < node.inputs.size() ? narrow.find(node.inputs[input]) : narrow.end();
      return found == narrow.end() ? 0 : found->second;
    };
    if (node.op_type == "QuantizeLinear" && type_of(2) != 0) add_attribute(node, "output_dtype", type_of(2));
    if (node.op_type == "CastLike" && type_of(1) != 0) {
      const int to = type_of(1);
      node.op_type = "Cast";
      node.inputs.pop_back();
      add_attribute(node, "to", to);
    }
    const int first = type_of(0);
    if (first != 0 && kept_by().contains(node.op_type))
      for (const std::string& output : node.outputs) declare(output, first);
    for (const onnx::Attribute& attribute : node.attributes)
      if ((attribute.name == "output_dtype" && node.op_type == "QuantizeLinear") ||
          (attribute.name == "to" && node.op_type == "Cast"))
        for (const std::string& output : node.outputs) declare(output, attribute.i.value_or(0));
  }
}

}  // namespace

void keep_narrow_results(onnx::Model& model) {
  if (model.graph) visit(*model.graph, {});
}

}  // namespace dovetail::import

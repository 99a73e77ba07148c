#include "compiler/import/node_writer.h"

#include <utility>

namespace dovetail::import {

using graph::ValueId;

const NdArray* NodeWriter::constant_input(std::size_t input) const {
  if (!has(input)) return nullptr;
  const auto& constant = rewrite_.graph.value(in(input)).constant;
  return constant ? &*constant : nullptr;
}

bool NodeWriter::is_used(std::size_t output) const {
  return output < node_.outputs.size() &&
         (rewrite_.graph.is_output(node_.outputs[output]) || !rewrite_.graph.users(node_.outputs[output]).empty());
}

Diagnostic NodeWriter::refused(std::string why, std::string hint) const {
  return {fmt::format("cannot import {}", node_.op), fmt::format("node {}", node_.name), std::move(why),
          std::move(hint)};
}

ValueId NodeWriter::op(std::string_view name, std::string_view stem, std::vector<ValueId> inputs,
                       graph::Attributes attributes, std::optional<graph::TensorType> type) {
  const ValueId result = rewrite_.graph.add_value(named(stem), type.value_or(graph::TensorType{}));
  rewrite_.before.push_back(rewrite_.add(std::string(name), stem, std::move(inputs), {result}, std::move(attributes)));
  return result;
}

ValueId NodeWriter::constant(std::string_view stem, NdArray array) {
  return rewrite_.graph.add_constant(named(stem), std::move(array));
}

ValueId NodeWriter::integers(std::string_view stem, const std::vector<std::int64_t>& values) {
  return constant(stem, int64_list(values));
}

ValueId NodeWriter::number(std::string_view stem, DType dtype, double value) {
  return constant(stem, scalar_of(dtype, value));
}

ValueId NodeWriter::reshape(ValueId x, std::string_view stem, const Shape& shape) {
  const DType dtype = type_of(x).dtype;
  return op("Reshape", stem, {x, integers(fmt::format("{}_shape", stem), shape)}, {}, graph::TensorType{dtype, shape});
}

ValueId NodeWriter::transpose(ValueId x, std::string_view stem, std::vector<std::int64_t> perm) {
  graph::TensorType type{type_of(x).dtype, {}};
  if (const Shape from = type_of(x).shape; from.size() == perm.size())
    for (const std::int64_t axis : perm) type.shape.push_back(from[static_cast<std::size_t>(axis)]);
  return op("Transpose", stem, {x}, {{"perm", std::move(perm)}}, std::move(type));
}

ValueId NodeWriter::cast(ValueId x, std::string_view stem, DType to) {
  const graph::TensorType from = type_of(x);
  if (from.dtype == to && !from.shape.empty()) return x;
  return op("Cast", stem, {x}, {{"to", std::int64_t{info(to).onnx}}}, graph::TensorType{to, from.shape});
}

void NodeWriter::give(std::size_t position, ValueId value) {
  if (position >= node_.outputs.size()) return;
  const ValueId output = node_.outputs[position];
  rewrite_.graph.value(output).producer = {};
  rewrite_.before.push_back(rewrite_.add("Identity", "output", {value}, {output}));
}

void NodeWriter::finish(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes) {
  for (std::size_t i = 1; i < node_.outputs.size(); ++i)
    if (!is_used(i)) rewrite_.graph.value(node_.outputs[i]).producer = {};
  const graph::NodeEdit edit = rewrite_.edit();
  edit->op = std::string(op);
  edit->inputs = std::move(inputs);
  edit->outputs = {node_.outputs[0]};
  edit->attributes = std::move(attributes);
}

}  // namespace dovetail::import

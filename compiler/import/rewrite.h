// The type that the rules of normalize.h work with: a node in the form of its model's operator set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::import {

// A node of a model, with the operations that rules need.
struct Rewrite {
  graph::Graph& graph;
  graph::NodeId id;
  std::int64_t opset;
  std::vector<graph::NodeId> before = {}, after = {};  // nodes that a rule adds before and after it

  const graph::Node& node() const { return graph.node(id); }
  graph::NodeEdit edit() { return graph.edit(id); }
  const graph::TensorType& type(std::size_t input) { return graph.value(node().inputs[input]).type; }
  bool has(std::size_t input) { return input < node().inputs.size() && node().inputs[input].valid(); }

  Diagnostic refused(std::string why, std::string hint) {
    return {fmt::format("cannot import {} of opset {}", node().op, opset), node().name, std::move(why),
            std::move(hint)};
  }

  // An integer attribute; nothing if it has another kind, which infer will reject.
  std::optional<std::int64_t> integer(const char* name, std::int64_t fallback) {
    const auto found = node().attributes.find(name);
    if (found == node().attributes.end()) return fallback;
    const auto* value = std::get_if<std::int64_t>(&found->second);
    return value ? std::optional(*value) : std::nullopt;
  }

  void set_input(std::size_t position, graph::ValueId value) {
    const graph::NodeEdit changed = edit();
    if (changed->inputs.size() <= position) changed->inputs.resize(position + 1);
    changed->inputs[position] = value;
  }
  void set_constant_input(std::size_t position, std::string_view stem, NdArray array) {
    const graph::ValueId value = graph.add_constant(fmt::format("{}/{}", node().name, stem), std::move(array));
    set_input(position, value);
  }
  graph::NodeId add(std::string op, std::string_view stem, std::vector<graph::ValueId> inputs,
                    std::vector<graph::ValueId> outputs, graph::Attributes attributes = {}) {
    graph::Node added;
    added.name = graph.unique_node_name(fmt::format("{}/{}", node().name, stem));
    added.op = std::move(op);
    added.inputs = std::move(inputs);
    added.outputs = std::move(outputs);
    added.attributes = std::move(attributes);
    added.origins = node().origins;
    return graph.add_node(std::move(added));
  }
};

// A rule applies to models with an operator set before `before`, the set that introduced the new form. Several rules of
// one operator apply in the order of their table.
using Rule = Result<void> (*)(Rewrite&);
struct Row {
  std::string_view op;
  std::int64_t before;
  Rule rule;
};
// The rules for operator sets before 7.
std::span<const Row> old_rules();

// Expands Attention into MatMul, Softmax and operators that move data.
Result<void> expand_attention(Rewrite& rewrite);
// Expands Einsum of two tensors into MatMul if it is a matrix product.
Result<void> einsum_as_product(Rewrite& rewrite);

inline NdArray int64_list(const std::vector<std::int64_t>& values) {
  return NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

inline NdArray scalar_of(DType dtype, double value) {
  NdArray array(dtype, {});
  array.set_double(0, value);
  return array;
}

}  // namespace dovetail::import

// Writes out a node in several others, the node itself as the last one: what rules that take operators apart share.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/rewrite.h"

namespace dovetail::import {

class NodeWriter {
 public:
  explicit NodeWriter(Rewrite& rewrite) : rewrite_(rewrite), node_(rewrite.node()) {}

  const graph::Node& node() const { return node_; }  // as imported
  bool has(std::size_t input) const { return input < node_.inputs.size() && node_.inputs[input].valid(); }
  graph::ValueId in(std::size_t input) const { return node_.inputs[input]; }
  graph::TensorType type(std::size_t input) const { return rewrite_.graph.value(in(input)).type; }
  Shape shape(std::size_t input) const { return rewrite_.graph.value(in(input)).type.shape; }
  // Valid until the next value is added.
  const NdArray* constant_input(std::size_t input) const;
  // The output is asked for and something uses it.
  bool wants(std::size_t output) const;

  std::int64_t integer(const std::string& name, std::int64_t otherwise) const {
    return graph::int_attribute(node_, name, otherwise);
  }
  double real(const std::string& name, double otherwise) const {
    return graph::float_attribute(node_, name, otherwise);
  }

  Diagnostic refused(std::string why, std::string hint) const;

  // A node on `inputs`, in execution order; its result. The shape where later steps look at it before types are
  // inferred.
  graph::ValueId op(std::string_view name, std::string_view stem, std::vector<graph::ValueId> inputs,
                    graph::Attributes attributes = {}, std::optional<graph::TensorType> type = std::nullopt);
  graph::ValueId constant(std::string_view stem, NdArray array);
  graph::ValueId integers(std::string_view stem, const std::vector<std::int64_t>& values);
  // A number of the type of `dtype`.
  graph::ValueId number(std::string_view stem, DType dtype, double value);
  graph::ValueId reshape(graph::ValueId x, std::string_view stem, const Shape& shape);
  graph::ValueId transpose(graph::ValueId x, std::string_view stem, std::vector<std::int64_t> perm);
  graph::ValueId cast(graph::ValueId x, std::string_view stem, DType to);

  // Output `position` of the node is `value`.
  void give(std::size_t position, graph::ValueId value);
  // The node becomes the step that yields output 0; outputs that were not given vanish.
  void finish(std::string_view op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {});

  // For the report: what the user should know of the node's results.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  const std::vector<std::string>& notes() const { return notes_; }

  Rewrite& rewrite() { return rewrite_; }
  const graph::Graph& graph() const { return rewrite_.graph; }

 private:
  graph::TensorType& type_of(graph::ValueId value) { return rewrite_.graph.value(value).type; }
  std::string named(std::string_view stem) const { return fmt::format("{}/{}", node_.name, stem); }

  Rewrite& rewrite_;
  const graph::Node node_;
  std::vector<std::string> notes_;
};

}  // namespace dovetail::import

// Expands a node into several others, the node itself being the last: shared by the rules that decompose operators.
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
  // The output exists and is used.
  bool is_used(std::size_t output) const;

  std::int64_t integer(const std::string& name, std::int64_t otherwise) const {
    return graph::int_attribute(node_, name, otherwise);
  }
  double real(const std::string& name, double otherwise) const {
    return graph::float_attribute(node_, name, otherwise);
  }

  Diagnostic refused(std::string why, std::string hint) const;

  // Adds a node on `inputs`, in execution order; returns its result. `type` is needed if later steps read the shape
  // before types are inferred.
  graph::ValueId op(std::string_view name, std::string_view stem, std::vector<graph::ValueId> inputs,
                    graph::Attributes attributes = {}, std::optional<graph::TensorType> type = std::nullopt);
  graph::ValueId constant(std::string_view stem, NdArray array);
  graph::ValueId integers(std::string_view stem, const std::vector<std::int64_t>& values);
  // A scalar constant of type `dtype`.
  graph::ValueId number(std::string_view stem, DType dtype, double value);
  graph::ValueId reshape(graph::ValueId x, std::string_view stem, const Shape& shape);
  graph::ValueId transpose(graph::ValueId x, std::string_view stem, std::vector<std::int64_t> perm);
  graph::ValueId cast(graph::ValueId x, std::string_view stem, DType to);

  // Makes `value` the node's output `position`.
  void give(std::size_t position, graph::ValueId value);
  // The node becomes the step that yields output 0; outputs that were not given are removed.
  void finish(std::string_view op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {});

  // Adds a note on the node's results to the report.
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

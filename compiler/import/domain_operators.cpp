#include "compiler/import/domain_operators.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/import/domain_rows.h"

namespace dovetail::import {
namespace {

const std::vector<DomainRow>& domain_rows() {
  static const std::vector<DomainRow> rows = [] {
    std::vector<DomainRow> all;
    for (const auto& part :
         {contrib_elementwise_rows(), contrib_normalization_rows(), contrib_product_rows(), contrib_n_bits_rows(),
          contrib_attention_rows(), contrib_quantized_rows(), ml_feature_rows(), ml_linear_rows(), ml_tree_rows()})
      all.insert(all.end(), part.begin(), part.end());
    std::ranges::sort(all, {}, &DomainRow::op);
    return all;
  }();
  return rows;
}

const DomainRow* find_domain_row(std::string_view op) {
  const auto row = std::ranges::lower_bound(domain_rows(), op, {}, &DomainRow::op);
  return row != domain_rows().end() && row->op == op ? &*row : nullptr;
}

Result<void> check_operands(const NodeWriter& writer, const DomainRow& row) {
  const graph::Node& node = writer.node();
  Diagnostics errors;
  for (const auto& [name, value] : node.attributes) {
    const auto rule =
        std::ranges::find_if(row.attributes, [&, &name = name](const auto& each) { return each.name == name; });
    if (rule == row.attributes.end())
      errors.push_back(writer.refused(fmt::format("attribute {} is not supported", name),
                                      "export the model with ONNX operators only"));
    else if (value.index() != static_cast<std::size_t>(rule->kind))
      errors.push_back(writer.refused(fmt::format("attribute {} has the wrong type", name), "fix the exporter"));
  }
  for (const ops::AttributeRule& rule : row.attributes)
    if (rule.presence == ops::Presence::required && !node.attributes.contains(std::string(rule.name)))
      errors.push_back(writer.refused(fmt::format("attribute {} is required", rule.name), "fix the exporter"));
  if (node.inputs.size() > row.inputs)
    errors.push_back(
        writer.refused(fmt::format("the node has {} inputs; at most {} are supported", node.inputs.size(), row.inputs),
                       "export the model with ONNX operators only"));
  for (std::size_t i = 0; i < row.required; ++i)
    if (!writer.has(i)) errors.push_back(writer.refused(fmt::format("input {} is missing", i), "fix the exporter"));
  if (node.outputs.empty()) errors.push_back(writer.refused("the node has no outputs", "remove the node"));
  return errors;
}

}  // namespace

bool is_domain_operator(std::string_view op) { return find_domain_row(op) != nullptr; }

std::vector<std::string_view> domain_operators() {
  std::vector<std::string_view> ops;
  for (const DomainRow& row : domain_rows()) ops.push_back(row.op);
  return ops;
}

std::span<const std::size_t> inputs_of_domain_operator(std::string_view op) {
  const DomainRow* row = find_domain_row(op);
  return row == nullptr ? std::span<const std::size_t>() : std::span(row->values);
}

Result<std::vector<graph::NodeId>> expand_domain_operator(graph::Graph& graph, graph::NodeId node, std::int64_t opset,
                                                          std::vector<std::string>& notes) {
  const DomainRow& row = *find_domain_row(graph.node(node).op);
  Rewrite rewrite{graph, node, opset};
  NodeWriter writer(rewrite);
  DOVETAIL_TRY(check_operands(writer, row));
  DOVETAIL_TRY(row.write(writer));
  notes.insert(notes.end(), writer.notes().begin(), writer.notes().end());
  std::vector<graph::NodeId> nodes = std::move(rewrite.before);
  nodes.push_back(node);
  nodes.insert(nodes.end(), rewrite.after.begin(), rewrite.after.end());
  return nodes;
}

}  // namespace dovetail::import

#include "compiler/import/expand_qoperators.h"

#include <fmt/format.h>

namespace dovetail::import {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

class Expansion {
 public:
  Expansion(Graph& graph, NodeId id) : graph_(graph), id_(id), node_(graph.node(id)) {}

  Result<std::vector<NodeId>> run() {
    const bool is_conv = node_.op == "QLinearConv";
    const std::size_t operands = is_conv && node_.inputs.size() == 9 ? 9 : 8;
    if (node_.inputs.size() != operands || node_.outputs.size() != 1)
      return refused(fmt::format("{} inputs and {} outputs; needed are 8{} and 1", node_.inputs.size(), node_.outputs.size(), is_conv ? " or 9" : ""), "export the model again");
    for (std::size_t i = 0; i < 8; ++i)
      if (!node_.inputs[i].valid()) return refused(fmt::format("input {} is missing", i), "only the bias may be omitted");
    const std::int64_t a_rank = rank(0), b_rank = rank(3);
    std::vector<ValueId> inputs{dequantise(0, "x", a_rank - 2), dequantise(3, "w", is_conv ? 0 : b_rank - 1)};
    if (operands == 9 && node_.inputs[8].valid()) {
      DOVETAIL_ASSIGN(const ValueId bias, dequantise_bias());
      inputs.push_back(bias);
    }
    const ValueId result = node_.outputs[0];
    const ValueId real = graph_.add_value(graph_.value(result).name + "/float", {DType::float32, {}});
    graph_.value(result).producer = {};
    graph_.value(real).producer = id_;
    Node& product = graph_.node(id_);
    product.op = is_conv ? "Conv" : "MatMul";
    product.inputs = std::move(inputs);
    product.outputs = {real};
    nodes_.push_back(id_);
    add("QuantizeLinear", "quantize", {real, scalar(6), scalar(7)}, result, -2);
    return std::move(nodes_);
  }

 private:
  Diagnostic refused(std::string why, std::string hint) const { return {fmt::format("cannot import {}", node_.op), node_.name, std::move(why), std::move(hint)}; }

  std::int64_t rank(std::size_t input) const { return static_cast<std::int64_t>(graph_.value(node_.inputs[input]).type.shape.size()); }

  // One number in whatever shape counts as per tensor; Quantize- and DequantizeLinear want a scalar for that.
  ValueId scalar(std::size_t input) {
    const ValueId id = node_.inputs[input];
    const auto& constant = graph_.value(id).constant;
    if (!constant || constant->count() != 1 || constant->rank() == 0) return id;
    NdArray array = constant->reshaped({});
    return graph_.add_constant(graph_.value(id).name + "/scalar", std::move(array));
  }

  void add(std::string op, std::string_view stem, std::vector<ValueId> inputs, ValueId output, std::int64_t axis) {
    Node node;
    node.name = graph_.unique_node_name(fmt::format("{}/{}", node_.name, stem));
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.origins = node_.origins;
    if (!graph_.value(node.inputs[1]).type.shape.empty()) node.attributes["axis"] = axis;
    nodes_.push_back(graph_.add_node(std::move(node)));
  }

  // Inputs `first` to `first + 2` are a tensor, its scale and its zero point.
  ValueId dequantise(std::size_t first, std::string_view stem, std::int64_t axis) {
    const ValueId output = graph_.add_value(fmt::format("{}/{}", node_.name, stem), {DType::float32, {}});
    add("DequantizeLinear", stem, {node_.inputs[first], scalar(first + 1), scalar(first + 2)}, output, axis);
    return output;
  }

  // The bias counts steps of x_scale * w_scale.
  Result<ValueId> dequantise_bias() {
    const auto &x = graph_.value(node_.inputs[1]).constant, &w = graph_.value(node_.inputs[4]).constant;
    if (!x || !w || x->count() != 1) return refused("it has a bias, but x_scale and w_scale are no constants", "fold constants before export");
    NdArray scale(DType::float32, w->count() == 1 ? Shape{} : Shape{w->count()});
    for (std::int64_t i = 0; i < scale.count(); ++i) scale.set_double(i, x->as_double(0) * w->as_double(i));
    const ValueId scales = graph_.add_constant(fmt::format("{}/bias_scale", node_.name), std::move(scale));
    const ValueId output = graph_.add_value(fmt::format("{}/bias", node_.name), {DType::float32, {}});
    add("DequantizeLinear", "bias", {node_.inputs[8], scales}, output, 0);
    return output;
  }

  Graph& graph_;
  const NodeId id_;
  const Node node_;  // as imported
  std::vector<NodeId> nodes_;
};

}  // namespace

bool is_qoperator(std::string_view op) { return op == "QLinearConv" || op == "QLinearMatMul"; }

Result<std::vector<NodeId>> expand_qoperator(Graph& graph, NodeId node) { return Expansion(graph, node).run(); }

}  // namespace dovetail::import

// Lowers quantized graphs in ONNX's QDQ form to integer graphs: docs/reference/quantization.md, operator by operator.
// Import turns QOperator forms (QLinearConv, QLinearMatMul) into QDQ forms.
//
// Other operators stay float (DequantizeLinear, the operator, QuantizeLinear), with a note that gives the reason.
// Values that QuantizeLinear nodes produced keep their names, except those between composed tables. Run it before
// folding DequantizeLinear of constants (FoldScope::keep_dequantized).
#include <algorithm>

#include <fmt/format.h>

#include "compiler/passes/evaluate_node.h"
#include "compiler/passes/list.h"
#include "compiler/passes/lower_conv_transpose.h"
#include "compiler/passes/qdq/lowering.h"

namespace dovetail::passes {
namespace {

using namespace qdq;

// The rule for each operator that a QuantizeLinear may follow.
struct RuleRow {
  std::string_view op;
  Refusal (*lower)(Lowering&, NodeId, const Target&);
};
constexpr RuleRow kLowerings[] = {
    {"Add", lower_addition},
    {"AveragePool", lower_average},
    {"Concat", lower_selection},
    {"Conv", lower_convolution},
    {"Gemm", lower_matrix_product},
    {"GlobalAveragePool", lower_average},
    {"LayerNormalization", lower_normalization},
    {"MatMul", lower_matrix_product},
    {"Max", lower_selection},
    {"Min", lower_selection},
    {"Mul", lower_product},
    {"Pad", lower_padding},
    {"RMSNormalization", lower_normalization},
    {"ReduceMean", lower_reduction},
    {"ReduceSum", lower_reduction},
    {"Softmax", lower_softmax},
    {"Sub", lower_addition},
    {"Sum", lower_addition},
    {"TensorScatter", lower_selection},
    {"Where", lower_selection},
};

// Quantizes weights that are stored in float with a QuantizeLinear after them.
Result<void> quantize_constants(Lowering& lowering) {
  for (NodeId id : lowering.graph.topological_order()) {
    const Node& node = lowering.graph.node(id);
    if (node.op != "QuantizeLinear" || !std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
          return !input.valid() || lowering.graph.is_constant(input);
        }))
      continue;
    DOVETAIL_ASSIGN(std::vector<NdArray> values, evaluate_node(lowering.graph, id, lowering.context.evaluate));
    replace_by_constants(lowering.graph, id, std::move(values));
    ++lowering.outcome.changes;
  }
  return {};
}

// A QuantizeLinear of a DequantizeLinear (perhaps with Relu and Clip between them) gives the same steps, clamped steps,
// or steps of another scale.
Refusal requantize(Lowering& lowering, const Operand& x, const Target& target) {
  Graph& graph = lowering.graph;
  if (x.q == target.q && target.range.is_full()) {
    const bool is_output = graph.is_output(target.output);
    if (lowering.fresh.count(x.value) && !graph.is_output(x.value) && graph.value(x.value).producer.valid()) {
      // The new value gets the name that the model has for it.
      const NodeId producer = graph.value(x.value).producer;
      graph.remove_node(target.quantize);
      std::ranges::replace(graph.edit(producer)->outputs, x.value, target.output);
      graph.value(x.value).producer = {};
      graph.value(target.output).producer = producer;
      graph.replace_uses(x.value, target.output);
      ++lowering.outcome.changes;
      return "";
    }
    if (!is_output) {
      graph.remove_node(target.quantize);
      graph.replace_uses(target.output, x.value);
      ++lowering.outcome.changes;
      return "";
    }
  }
  Node node;
  if (x.q == target.q) {
    node.op = "dovetail.qclip";
    node.inputs = {x.value};
    node.attributes["y_min"] = std::int64_t{target.range.min};
    node.attributes["y_max"] = std::int64_t{target.range.max};
  } else {
    Refusal refusal;
    node = lowering.rescale(x, target.q, target.range, graph.value(target.output).name, refusal);
    if (!refusal.empty()) return refusal;
  }
  // The new node represents the activation that it replaces, or else the QuantizeLinear.
  Target inner = target;
  NodeId op = target.quantize;
  if (!inner.float_nodes.empty()) {
    op = inner.float_nodes.back();
    inner.float_nodes.pop_back();
  }
  return lowering.place(std::move(node), op, inner);
}

void lower_quantize(Lowering& lowering, NodeId quantize) {
  Graph& graph = lowering.graph;
  const Node node = graph.node(quantize);
  const auto q = lowering.parameters(node);
  if (!q) {
    lowering.refusals[node.name] = lowering.why_no_parameters(node);
    return;
  }
  Target target{quantize, node.outputs[0], *q, {}, {}};
  ValueId value = node.inputs[0];
  std::vector<std::pair<float, float>> clips;  // nearest to the QuantizeLinear first
  for (;;) {
    const NodeId producer = graph.value(value).producer;
    if (!producer.valid()) return;  // a graph input, where the integers begin
    const auto bounds = clip_bounds(graph, graph.node(producer));
    if (!bounds) break;
    clips.push_back(*bounds);
    target.float_nodes.push_back(producer);
    value = graph.node(producer).inputs[0];
  }
  for (auto clip = clips.rbegin(); clip != clips.rend(); ++clip)
    target.range = clamp_before(target.range, clip->first, clip->second, *q);

  const NodeId op = graph.value(value).producer;
  const std::string name = graph.node(op).name, op_type = graph.node(op).op;
  Refusal refusal;
  if (const auto x = lowering.dequantized(value)) {
    refusal = requantize(lowering, *x, target);
  } else {
    const auto row = std::find_if(std::begin(kLowerings), std::end(kLowerings),
                                  [&](const RuleRow& each) { return each.op == op_type; });
    refusal =
        row != std::end(kLowerings) ? row->lower(lowering, op, target) : Refusal("the operator has no integer form");
    // An operator without a rule may still be a function of one tensor, together with the Relu and Clip after it.
    if (!refusal.empty()) {
      const Refusal no_table = lower_to_table(lowering, target);
      if (no_table.empty()) return;
      if (row == std::end(kLowerings) && is_pointwise(op_type)) refusal = no_table;
    }
  }
  if (!refusal.empty()) lowering.refusals[name] = refusal;
}

// The reason for nodes whose operands or result are quantized to other types than bytes; "" for all other nodes.
std::string other_steps(const Graph& graph, const Node& node) {
  const auto other = [](DType dtype) { return dtype != DType::int8 && dtype != DType::uint8; };
  for (ValueId input : node.inputs) {
    const NodeId producer = input.valid() ? graph.value(input).producer : NodeId{};
    if (!producer.valid() || graph.node(producer).op != "DequantizeLinear" ||
        graph.is_constant(graph.node(producer).inputs[0]))
      continue;
    const DType steps = graph.value(graph.node(producer).inputs[0]).type.dtype;
    if (other(steps))
      return fmt::format("the quantized input is {}, but integer forms exist only for int8 and uint8", name(steps));
  }
  for (ValueId output : node.outputs)
    for (NodeId user : graph.users(output)) {
      if (graph.node(user).op != "QuantizeLinear") continue;
      const DType steps = graph.value(graph.node(user).outputs[0]).type.dtype;
      if (other(steps))
        return fmt::format("the result is quantized to {}, but integer forms exist only for int8 and uint8",
                           name(steps));
    }
  return "";
}

// Adds notes for float operators next to quantized values, with the reason why they stay float.
void note_islands(Lowering& lowering) {
  const Graph& graph = lowering.graph;
  const auto is = [&](NodeId node, std::string_view op) { return node.valid() && graph.node(node).op == op; };
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") {
      if (const auto refusal = lowering.refusals.find(node.name); refusal != lowering.refusals.end())
        lowering.outcome.notes.push_back(fmt::format("{} ({}) stays: {}", node.name, node.op, refusal->second));
      continue;
    }
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.valid() && is(graph.value(input).producer, "DequantizeLinear");
    });
    bool feeds = false;
    for (ValueId output : node.outputs)
      for (NodeId user : graph.users(output)) feeds = feeds || is(user, "QuantizeLinear");
    if (!reads && !feeds) continue;
    const auto refusal = lowering.refusals.find(node.name);
    const bool reads_activations = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.valid() && is(graph.value(input).producer, "DequantizeLinear") &&
             !graph.is_constant(graph.node(graph.value(input).producer).inputs[0]);
    });
    std::string why = reads_activations ? "no QuantizeLinear follows"
                                        : "only the constants are quantized, and the activations are float";
    if (const std::string steps = other_steps(graph, node); !steps.empty()) why = steps;
    else if (lowering.kept_float.count(node.name)) why = "the float result is used in addition to the quantized one";
    else if (refusal != lowering.refusals.end()) why = refusal->second;
    lowering.outcome.notes.push_back(fmt::format("{} ({}) stays float: {}", node.name, node.op, why));
  }
}

}  // namespace

Result<PassOutcome> lower_qdq(graph::Graph& graph, const PassContext& context) {
  const std::vector<NodeId> imported = graph.live_nodes();
  if (std::none_of(imported.begin(), imported.end(), [&](NodeId id) {
        return graph.node(id).op == "DequantizeLinear" || graph.node(id).op == "QuantizeLinear";
      }))
    return PassOutcome{};
  for (const NodeId id : imported)
    if (!graph.node(id).removed) lower_quantized_conv_transpose(graph, id);
  Lowering lowering{graph, context, {}, {}, {}, {}};
  lowering.outcome.changes += simplify_real_parts(graph);
  DOVETAIL_TRY(quantize_constants(lowering));
  recenter_activations(lowering);
  // In topological order, so that the operands of a node have their final form.
  for (NodeId id : graph.topological_order()) {
    if (graph.node(id).removed) continue;
    const Node node = graph.node(id);
    Refusal refusal;
    if (node.op == "QuantizeLinear") lower_quantize(lowering, id);
    else if (const auto moved = move_weight(lowering, id)) refusal = *moved;
    else if (moved_inputs(node) > 0) refusal = move_values(lowering, id);
    else if (node.op == "ArgMax" || node.op == "ArgMin") refusal = order_steps(lowering, id);
    else if (node.op == "Relu" || node.op == "Clip") refusal = clip_steps(lowering, id);
    if (!refusal.empty()) lowering.refusals[node.name] = refusal;
  }
  DOVETAIL_TRY(eliminate_dead_nodes(graph));
  compose_tables(lowering);
  note_islands(lowering);
  return std::move(lowering.outcome);
}

}  // namespace dovetail::passes

#include "compiler/quantize/masks.h"

#include <map>
#include <optional>

#include "compiler/passes/rewriting.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr double kLow = -1000;  // hides any score of a Softmax: exp(-1000 + 100) is 0

struct Condition {
  ValueId visible;
  double low;
};

// Recognizes (1 - Cast(integers)) * low, Where(condition, 0, low) and Where(condition, low, 0).
std::optional<Condition> condition_of(Graph& graph, ValueId mask) {
  const auto low_number = [&](ValueId value) {
    const auto number = passes::uniform(graph, value);
    return number && *number <= kLow ? number : std::nullopt;
  };
  const auto is_number = [&](ValueId value, double expected) { return passes::uniform(graph, value) == expected; };
  if (const auto choice = passes::produced_by(graph, mask, "Where")) {
    const Node node = graph.node(*choice);
    const auto first = low_number(node.inputs[1]), second = low_number(node.inputs[2]);
    if (second && is_number(node.inputs[1], 0)) return Condition{node.inputs[0], *second};
    if (first && is_number(node.inputs[2], 0))
      return Condition{passes::insert(graph, "Not", node.name + "/visible", {node.inputs[0]}, {}, node.origins),
                       *first};
    return std::nullopt;
  }
  const auto product = passes::produced_by(graph, mask, "Mul");
  if (!product) return std::nullopt;
  const Node mul = graph.node(*product);
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const auto low = low_number(mul.inputs[1 - side]);
    const auto difference = passes::produced_by(graph, mul.inputs[side], "Sub");
    if (!low || !difference) continue;
    const Node sub = graph.node(*difference);
    const auto cast = passes::produced_by(graph, sub.inputs[1], "Cast");
    if (!cast || !is_number(sub.inputs[0], 1)) continue;
    const ValueId flags = graph.node(*cast).inputs[0];
    if (is_floating(graph.value(flags).type.dtype)) continue;
    graph::Attributes to_boolean{{"to", std::int64_t{info(DType::boolean).onnx}}};
    return Condition{passes::insert(graph, "Cast", mul.name + "/visible", {flags}, std::move(to_boolean), mul.origins),
                     *low};
  }
  return std::nullopt;
}

}  // namespace

void hide_scores_by_condition(Graph& graph) {
  std::map<ValueId, std::optional<Condition>> conditions;  // of masks, which layers share
  for (const NodeId id : graph.topological_order()) {
    if (graph.node(id).removed || graph.node(id).op != "Softmax") continue;
    const ValueId masked = graph.node(id).inputs[0];
    const auto sum = passes::produced_by(graph, masked, "Add");
    if (!sum || !passes::used_once(graph, masked)) continue;
    const std::vector<ValueId> terms = graph.node(*sum).inputs;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const ValueId mask = terms[side], scores = terms[1 - side];
      if (passes::shape_of(graph, scores) != passes::shape_of(graph, masked)) continue;
      if (!conditions.count(mask)) conditions[mask] = condition_of(graph, mask);
      const std::optional<Condition>& condition = conditions[mask];
      if (!condition) continue;
      const ValueId low =
          passes::add_scalar(graph, graph.node(*sum).name + "/low", graph.value(scores).type.dtype, condition->low);
      if (passes::become(graph, *sum, "Where", {condition->visible, scores, low})) break;
    }
  }
}

}  // namespace dovetail::quantize

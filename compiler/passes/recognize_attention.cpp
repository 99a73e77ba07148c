// Turns scaled dot-product attention, written as MatMul(Softmax(MatMul(q, k) * scale + mask), v), into
// dovetail.attention. The scale may be a factor or a divisor after the first product, or apply to q alone.
#include <limits>
#include <optional>
#include <utility>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// Removes a constant factor from the value, and multiplies `scale` by it.
ValueId without_factor(const Graph& graph, ValueId value, double& scale, std::vector<NodeId>& absorbed) {
  for (const char* op : {"Mul", "Div"}) {
    const auto scaled = produced_by(graph, value, op);
    if (!scaled || !used_once(graph, value)) continue;
    const graph::Node& node = graph.node(*scaled);
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      const auto factor = uniform(graph, node.inputs[i]);
      if (!factor || *factor == 0 || (node.op == "Div" && i == 0) ||
          graph.value(node.inputs[1 - i]).type != graph.value(value).type)
        continue;
      scale = node.op == "Mul" ? scale * *factor : scale / *factor;
      absorbed.push_back(*scaled);
      return node.inputs[1 - i];
    }
  }
  return value;
}

// Scores that a constant condition replaces by a very low value (-inf, or a number close to the least), expressed as a
// mask that is added to the scores.
struct Hidden {
  ValueId scores;
  NdArray mask;
};
std::optional<Hidden> hidden_by_condition(const Graph& graph, NodeId id) {
  const graph::Node& node = graph.node(id);
  const graph::Value& condition = graph.value(node.inputs[0]);
  if (!condition.constant) return std::nullopt;
  for (const std::size_t seen : {std::size_t{1}, std::size_t{2}}) {
    const ValueId scores = node.inputs[seen];
    const auto low = uniform(graph, node.inputs[3 - seen]);
    if (!low || shape_of(graph, scores) != shape_of(graph, node.outputs[0])) continue;
    const DType type = graph.value(scores).type.dtype;
    const double half = type == DType::float64                              ? std::numeric_limits<double>::lowest() / 2
                        : type == DType::float32 || type == DType::bfloat16 ? std::numeric_limits<float>::lowest() / 2
                                                                            : -std::numeric_limits<double>::infinity();
    if (*low > half) continue;
    NdArray mask(type, condition.type.shape);
    for (std::int64_t i = 0; i < mask.count(); ++i)
      mask.set_double(i, (condition.constant->as_int64(i) != 0) == (seen == 1) ? 0 : *low);
    return Hidden{scores, std::move(mask)};
  }
  return std::nullopt;
}

bool recognize(Graph& graph, NodeId id) {
  const graph::Node node = graph.node(id);
  if (node.op != "MatMul" || !is_float(graph, node.outputs[0])) return false;
  const auto softmax = produced_by(graph, node.inputs[0], "Softmax");
  if (!softmax || !used_once(graph, node.inputs[0])) return false;
  const auto rank = static_cast<std::int64_t>(shape_of(graph, node.inputs[0]).size());
  const std::int64_t axis = graph::int_attribute(graph.node(*softmax), "axis", -1);
  if (rank < 2 || (axis != -1 && axis != rank - 1)) return false;
  ValueId scores = graph.node(*softmax).inputs[0], mask;
  std::vector<NodeId> absorbed{*softmax};
  double scale = 1;
  if (!used_once(graph, scores)) return false;
  std::optional<Hidden> hidden;
  if (const auto choice = produced_by(graph, scores, "Where")) {
    hidden = hidden_by_condition(graph, *choice);
    if (!hidden || !used_once(graph, hidden->scores)) return false;
    scores = hidden->scores;
    absorbed.push_back(*choice);
  } else if (const auto sum = produced_by(graph, scores, "Add")) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const ValueId product = graph.node(*sum).inputs[i];
      if (mask.valid() || !used_once(graph, product) || shape_of(graph, product) != shape_of(graph, scores)) continue;
      std::vector<NodeId> inner;
      double factor = 1;
      if (!produced_by(graph, without_factor(graph, product, factor, inner), "MatMul")) continue;
      mask = graph.node(*sum).inputs[1 - i];
      scores = product;
    }
    if (!mask.valid()) return false;
    absorbed.push_back(*sum);
  }
  scores = without_factor(graph, scores, scale, absorbed);
  const auto product = produced_by(graph, scores, "MatMul");
  if (!product || !used_once(graph, scores)) return false;
  absorbed.push_back(*product);
  ValueId q = graph.node(*product).inputs[0];
  const ValueId k = graph.node(*product).inputs[1], v = node.inputs[1];
  q = without_factor(graph, q, scale, absorbed);
  // All have the same rank and leading axes: nothing is broadcast.
  const Shape &sq = shape_of(graph, q), &sk = shape_of(graph, k), &sv = shape_of(graph, v);
  if (sq.size() < 2 || sq.size() != sk.size() || sq.size() != sv.size()) return false;
  for (std::size_t i = 0; i + 2 < sq.size(); ++i)
    if (sq[i] != sk[i] || sq[i] != sv[i]) return false;
  // Without keys the weighted sum is 0; divided by the sum of the weights it would be NaN.
  if (sv[sv.size() - 2] == 0) return false;
  if (hidden) mask = graph.add_constant(graph.value(node.outputs[0]).name + ".mask", std::move(hidden->mask));
  return become(graph, id, "dovetail.attention", {q, k, v, mask}, {{"scale", scale}}, absorbed);
}

}  // namespace

Result<PassOutcome> recognize_attention(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  for (const NodeId id : graph.topological_order())
    if (!graph.node(id).removed && graph.node(id).outputs.size() == 1 && recognize(graph, id)) ++outcome.changes;
  return outcome;
}

}  // namespace dovetail::passes

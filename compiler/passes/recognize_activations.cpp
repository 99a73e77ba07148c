// Recognizes activations that exporters write as several operators: Sigmoid, Softplus, Swish (SiLU), HardSigmoid,
// HardSwish, Mish, and Gelu with erf or with tanh. Products may have any order and association.
#include <algorithm>
#include <cmath>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-3 * std::abs(b);
}  // exporters write 0.0447 and 1.702 with this few digits
bool very_close(double a, double b) { return std::abs(a - b) <= 2e-6 * std::abs(b); }

// The factors of a product: constant * factors[0] * factors[1] * ...
struct Product {
  double constant = 1;
  std::vector<ValueId> factors;
  std::vector<NodeId> nodes;
};
void take_apart(const Graph& graph, ValueId value, bool top, Product& product) {
  const NodeId id = graph.value(value).producer;
  const bool inside = id.valid() && (top || used_once(graph, value)) && product.nodes.size() < 8;
  if (const auto constant = uniform(graph, value)) {
    product.constant *= *constant;
  } else if (inside && graph.node(id).op == "Mul") {
    product.nodes.push_back(id);
    for (const ValueId operand : graph.node(id).inputs) take_apart(graph, operand, false, product);
  } else if (inside && graph.node(id).op == "Div" && uniform(graph, graph.node(id).inputs[1])) {
    product.nodes.push_back(id);
    product.constant /= *uniform(graph, graph.node(id).inputs[1]);
    take_apart(graph, graph.node(id).inputs[0], false, product);
  } else if (inside && graph.node(id).op == "Pow" && uniform(graph, graph.node(id).inputs[1]).value_or(0) == 3) {
    product.nodes.push_back(id);
    product.factors.insert(product.factors.end(), 3, graph.node(id).inputs[0]);
  } else {
    product.factors.push_back(value);
  }
}
Product product_of(const Graph& graph, ValueId value) {
  Product product;
  take_apart(graph, value, true, product);
  return product;
}

// value = x + number; nullopt where the value is not such a sum.
struct Shifted {
  ValueId x;
  double number;
  NodeId node;
};
std::optional<Shifted> shifted(const Graph& graph, ValueId value) {
  const auto sum = produced_by(graph, value, "Add");
  if (!sum) return std::nullopt;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}})
    if (const auto number = uniform(graph, graph.node(*sum).inputs[i]);
        number && graph.value(graph.node(*sum).inputs[1 - i]).type == graph.value(value).type)
      return Shifted{graph.node(*sum).inputs[1 - i], *number, *sum};
  return std::nullopt;
}

// Whether the argument of tanh, divided by root(2 / pi), is 0.044715 x^3 + x, or x * (1 + 0.044715 x^2).
bool is_gelu_polynomial(const Graph& graph, ValueId argument, ValueId x) {
  Product outer = product_of(graph, argument);
  if (!close(outer.constant, std::sqrt(2 / M_PI))) return false;
  if (outer.factors.size() == 1) {
    const auto sum = produced_by(graph, outer.factors[0], "Add");
    if (!sum) return false;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const Product cube = product_of(graph, graph.node(*sum).inputs[i]);
      if (graph.node(*sum).inputs[1 - i] == x && close(cube.constant, 0.044715) &&
          cube.factors == std::vector<ValueId>(3, x))
        return true;
    }
    return false;
  }
  if (outer.factors.size() != 2) return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto sum = shifted(graph, outer.factors[i]);
    if (outer.factors[1 - i] != x || !sum || sum->number != 1) continue;
    const Product square = product_of(graph, sum->x);
    if (close(square.constant, 0.044715) && square.factors == std::vector<ValueId>(2, x)) return true;
  }
  return false;
}

// The factors x and `other` in either order, times a constant.
bool products(Graph& graph, NodeId id) {
  const ValueId output = graph.node(id).outputs[0];
  const Product product = product_of(graph, output);
  if (product.factors.size() != 2) return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ValueId x = product.factors[i], other = product.factors[1 - i];
    if (graph.value(x).type != graph.value(output).type) continue;
    std::vector<NodeId> absorbed = product.nodes;
    std::erase(absorbed, id);
    if (graph.value(other).producer.valid()) absorbed.push_back(graph.value(other).producer);
    if (const auto sigmoid = produced_by(graph, other, "Sigmoid"); sigmoid && product.constant == 1) {
      const ValueId argument = graph.node(*sigmoid).inputs[0];
      const Product scaled = product_of(graph, argument);
      if (argument == x) return become(graph, id, "Swish", {x}, {}, absorbed);
      if (scaled.factors == std::vector<ValueId>{x} && !scaled.nodes.empty())
        return become(graph, id, "Swish", {x}, {{"alpha", scaled.constant}}, absorbed);
    }
    if (const auto gate = produced_by(graph, other, "HardSigmoid");
        gate && product.constant == 1 && graph.node(*gate).inputs[0] == x &&
        very_close(graph::float_attribute(graph.node(*gate), "alpha", 0.2), 1.0 / 6) &&
        graph::float_attribute(graph.node(*gate), "beta", 0.5) == 0.5)
      return become(graph, id, "HardSwish", {x}, {}, absorbed);
    if (const auto clip = produced_by(graph, other, "Clip"); clip && very_close(product.constant, 1.0 / 6)) {
      const graph::Node& gate = graph.node(*clip);
      const auto sum = shifted(graph, gate.inputs[0]);
      if (sum && sum->x == x && sum->number == 3 && has_input(gate, 1) && has_input(gate, 2) &&
          uniform(graph, gate.inputs[1]) == 0.0 && uniform(graph, gate.inputs[2]) == 6.0)
        return become(graph, id, "HardSwish", {x}, {}, absorbed);
    }
    if (const auto tanh = produced_by(graph, other, "Tanh"); tanh && product.constant == 1)
      if (const auto softplus = produced_by(graph, graph.node(*tanh).inputs[0], "Softplus");
          softplus && graph.node(*softplus).inputs[0] == x)
        return become(graph, id, "Mish", {x}, {}, absorbed);
    const auto sum = shifted(graph, other);
    if (!sum || sum->number != 1 || product.constant != 0.5) continue;
    if (const auto erf = produced_by(graph, sum->x, "Erf")) {
      const Product argument = product_of(graph, graph.node(*erf).inputs[0]);
      if (argument.factors == std::vector<ValueId>{x} && very_close(argument.constant, std::sqrt(0.5))) {
        absorbed.push_back(*erf);
        return become(graph, id, "Gelu", {x}, {}, absorbed);
      }
    }
    if (const auto tanh = produced_by(graph, sum->x, "Tanh");
        tanh && is_gelu_polynomial(graph, graph.node(*tanh).inputs[0], x)) {
      absorbed.push_back(*tanh);
      return become(graph, id, "Gelu", {x}, {{"approximate", std::string("tanh")}}, absorbed);
    }
  }
  return false;
}

// 1 / (1 + exp(-x)).
bool sigmoid(Graph& graph, NodeId id) {
  const graph::Node& node = graph.node(id);
  const bool quotient = node.op == "Div" && uniform(graph, node.inputs[0]) == 1.0;
  if (!quotient && node.op != "Reciprocal") return false;
  const auto sum = shifted(graph, node.inputs[quotient ? 1 : 0]);
  const auto exp = sum && sum->number == 1 ? produced_by(graph, sum->x, "Exp") : std::nullopt;
  const auto negated = exp ? produced_by(graph, graph.node(*exp).inputs[0], "Neg") : std::nullopt;
  return negated && become(graph, id, "Sigmoid", {graph.node(*negated).inputs[0]}, {}, {sum->node, *exp, *negated});
}

// log(1 + exp(x)).
bool softplus(Graph& graph, NodeId id) {
  if (graph.node(id).op != "Log") return false;
  const auto sum = shifted(graph, graph.node(id).inputs[0]);
  const auto exp = sum && sum->number == 1 ? produced_by(graph, sum->x, "Exp") : std::nullopt;
  return exp && become(graph, id, "Softplus", {graph.node(*exp).inputs[0]}, {}, {sum->node, *exp});
}

// x / (1 + exp(-x)).
bool swish_as_quotient(Graph& graph, NodeId id) {
  const graph::Node& node = graph.node(id);
  if (node.op != "Div") return false;
  const auto sum = shifted(graph, node.inputs[1]);
  const auto exp = sum && sum->number == 1 ? produced_by(graph, sum->x, "Exp") : std::nullopt;
  const auto negated = exp ? produced_by(graph, graph.node(*exp).inputs[0], "Neg") : std::nullopt;
  return negated && graph.node(*negated).inputs[0] == node.inputs[0] &&
         become(graph, id, "Swish", {node.inputs[0]}, {}, {sum->node, *exp, *negated});
}

// clip(x + 3, 0, 6) / 6.
bool hard_sigmoid(Graph& graph, NodeId id) {
  const Product product = product_of(graph, graph.node(id).outputs[0]);
  if (product.factors.size() != 1 || product.nodes.size() != 1 || !very_close(product.constant, 1.0 / 6)) return false;
  const auto clip = produced_by(graph, product.factors[0], "Clip");
  if (!clip || !has_input(graph.node(*clip), 1) || !has_input(graph.node(*clip), 2)) return false;
  const graph::Node& gate = graph.node(*clip);
  const auto sum = shifted(graph, gate.inputs[0]);
  if (!sum || sum->number != 3 || uniform(graph, gate.inputs[1]) != 0.0 || uniform(graph, gate.inputs[2]) != 6.0)
    return false;
  return become(graph, id, "HardSigmoid", {sum->x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}, {*clip, sum->node});
}

}  // namespace

Result<PassOutcome> recognize_activations(Graph& graph, const PassContext&) {
  PassOutcome outcome;
  const auto order = graph.topological_order();
  const auto look_at = [&](NodeId id, auto... rules) {
    const graph::Node& node = graph.node(id);
    if (node.removed || node.outputs.size() != 1 || !is_float(graph, node.outputs[0])) return;
    if ((rules(graph, id) || ...)) ++outcome.changes;
  };
  for (const NodeId id : order) {
    look_at(id, sigmoid, softplus, swish_as_quotient);
    if (!graph.node(id).removed && (graph.node(id).op == "Mul" || graph.node(id).op == "Div")) look_at(id, products);
  }
  // A gate alone, if it is not part of a recognized product.
  for (const NodeId id : order)
    if (!graph.node(id).removed && (graph.node(id).op == "Mul" || graph.node(id).op == "Div"))
      look_at(id, hard_sigmoid);
  return outcome;
}

}  // namespace dovetail::passes

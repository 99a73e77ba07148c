// The pieces of the random patterns.
#pragma once

#include <string>
#include <vector>

#include "tests/property/compiler/passes/levels.h"

namespace dovetail::test {

struct PatternPieces : DrawnGraph {
  using DrawnGraph::DrawnGraph;
  using Choices = std::vector<graph::Attribute>;

  // In half of the graphs the attribute is absent.
  void maybe(graph::Attributes& attributes, const std::string& name, const Choices& choices) {
    if (draw.coin()) return;
    attributes[name] = one_of(choices);
  }
  static std::int64_t integer(const graph::Attributes& attributes, const std::string& name, std::int64_t fallback) {
    const auto found = attributes.find(name);
    return found == attributes.end() ? fallback : std::get<std::int64_t>(found->second);
  }
  template <typename T>
  T one_of(const std::vector<T>& from) {
    return draw.one_of(from);
  }
  ValueId input(const Shape& shape) {
    graph.inputs.push_back(graph.add_value(fmt::format("x{}", graph.inputs.size()), {DType::float32, shape}));
    return graph.inputs.back();
  }
  ValueId weights(const Shape& shape) { return constant(reals(shape, 0.5, 2)); }
  ValueId numbers(const Shape& shape) { return constant(reals(shape, -1, 1)); }
  // A constant of one of the shapes combined with x on either side; sometimes x itself.
  ValueId with_constant(ValueId x, const std::vector<Shape>& shapes) {
    if (draw.between(0, 3) == 0) return x;
    const std::string op = one_of<std::string>({"Add", "Add", "Mul", "Sub", "Div"});
    const ValueId c = weights(one_of(shapes));
    return draw.coin() || op == "Div" ? add(op, {x, c}) : add(op, {c, x});
  }
  void finish(ValueId y) {
    graph.outputs = {graph.is_output(y) || !graph.value(y).producer.valid() ? add("Neg", {y}) : y};
  }
};

}  // namespace dovetail::test

#include "compiler/zoo/growth.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compiler/ops/op.h"

namespace dovetail::zoo {

using graph::Graph;
using graph::ValueId;

namespace {

// Small, so that a node's cost is the compiler's and not the kernel's; four dimensions, so that layouts are chosen for
// it.
const Shape kTensor{1, 8, 4, 4};

class Maker {
 public:
  explicit Maker(const Shape& shape = kTensor) {
    graph_.name = "growth";
    graph_.inputs = {graph_.add_value("x", {DType::float32, shape})};
  }

  ValueId input() const { return graph_.inputs.front(); }
  ValueId constant() {
    ++constants_;
    return graph_.add_constant("c" + std::to_string(constants_), NdArray::scalar(static_cast<float>(constants_)));
  }

  std::vector<ValueId> node(const std::string& op, std::vector<ValueId> inputs, std::size_t outputs = 1,
                            graph::Attributes attributes = {}) {
    const std::string name = "n" + std::to_string(graph_.nodes.size());
    graph::Node node{name, op, std::move(inputs), {}, std::move(attributes), {name}};
    for (std::size_t i = 0; i < outputs; ++i)
      node.outputs.push_back(graph_.add_value(name + "_" + std::to_string(i), {}));
    std::vector<ValueId> made = node.outputs;
    const auto inferred = ops::infer(graph_, graph_.add_node(std::move(node)));
    DOVETAIL_CHECK(inferred.ok(), inferred.ok() ? "" : to_string(inferred.errors()));
    return made;
  }
  ValueId one(const std::string& op, std::vector<ValueId> inputs) { return node(op, std::move(inputs)).front(); }

  Graph finish(std::vector<ValueId> outputs) {
    graph_.outputs = std::move(outputs);
    return std::move(graph_);
  }

 private:
  Graph graph_;
  std::size_t constants_ = 0;
};

Graph chain(std::size_t nodes) {
  Maker m;
  ValueId x = m.input();
  for (std::size_t i = 0; i < nodes; ++i) x = m.one(i % 2 == 0 ? "Relu" : "Neg", {x});
  return m.finish({x});
}

// x * sigmoid(x)
Graph chain_twice(std::size_t nodes) {
  Maker m;
  ValueId x = m.input();
  for (std::size_t i = 0; i < std::max<std::size_t>(nodes / 2, 1); ++i) x = m.one("Mul", {x, m.one("Sigmoid", {x})});
  return m.finish({x});
}

// x * x, then |x|, so that no rule combines them to a power.
Graph chain_square(std::size_t nodes) {
  Maker m;
  ValueId x = m.input();
  for (std::size_t i = 0; i < nodes; ++i) x = i % 2 == 0 ? m.one("Mul", {x, x}) : m.one("Abs", {x});
  return m.finish({x});
}

Graph fan(std::size_t nodes) {
  Maker m;
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < nodes; ++i) results.push_back(m.one("Add", {m.input(), m.constant()}));
  return m.finish(std::move(results));
}

Graph fan_twice(std::size_t nodes) {
  Maker m;
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < std::max<std::size_t>(nodes / 2, 1); ++i) {
    const ValueId sum = m.one("Add", {m.input(), m.constant()});
    results.push_back(m.one("Mul", {sum, sum}));
  }
  return m.finish(std::move(results));
}

Graph diamonds(std::size_t nodes) {
  Maker m;
  ValueId x = m.input();
  for (std::size_t i = 0; i < std::max<std::size_t>(nodes / 3, 1); ++i)
    x = m.one("Add", {m.one("Neg", {x}), m.one("Sigmoid", {x})});
  return m.finish({x});
}

Graph diamonds_twice(std::size_t nodes) {
  Maker m;
  ValueId x = m.input();
  for (std::size_t i = 0; i < std::max<std::size_t>(nodes / 4, 1); ++i) {
    const ValueId sum = m.one("Add", {m.one("Neg", {x}), m.one("Sigmoid", {x})});
    x = m.one("Mul", {sum, sum});
  }
  return m.finish({x});
}

// Every node reads its left and upper neighbors; `twice`: each is then squared.
Graph any_grid(std::size_t nodes, bool twice) {
  Maker m;
  std::size_t side = 1;
  while ((side + 1) * (side + 1) * (twice ? 2 : 1) <= nodes) ++side;
  std::vector<ValueId> row(side, m.input());
  for (std::size_t y = 0; y < side; ++y) {
    ValueId left = m.input();
    for (ValueId& above : row) {
      left = m.one("Add", {left, above});
      if (twice) left = m.one("Mul", {left, left});
      above = left;
    }
  }
  return m.finish({row.back()});
}
Graph grid(std::size_t nodes) { return any_grid(nodes, false); }
Graph grid_twice(std::size_t nodes) { return any_grid(nodes, true); }

// One node with as many results.
Graph split(std::size_t nodes) {
  const auto parts = static_cast<std::int64_t>(nodes);
  Maker m({1, parts * kTensor[1], kTensor[2], kTensor[3]});
  return m.finish(m.node("Split", {m.input()}, nodes, {{"axis", std::int64_t{1}}, {"num_outputs", parts}}));
}

constexpr std::array<Growth, 10> kFamilies{{
    {"chain", "each node reads the preceding one", chain},
    {"chain twice", "x * sigmoid(x), repeated", chain_twice},
    {"chain square", "x * x, repeated", chain_square},
    {"fan", "all read one tensor, all are outputs", fan},
    {"fan twice", "the same, each squared", fan_twice},
    {"diamonds", "two branches that join, repeated", diamonds},
    {"diamonds twice", "the same, each joint squared", diamonds_twice},
    {"grid", "each node reads those to the left and above", grid},
    {"grid twice", "the same, each squared", grid_twice},
    {"split", "one node with that many results", split},
}};

}  // namespace

std::span<const Growth> growth_families() { return kFamilies; }

}  // namespace dovetail::zoo

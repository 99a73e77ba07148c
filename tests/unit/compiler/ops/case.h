// One node under test: a graph that contains it, its inferred types, and its naive program, run by the interpreter.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "compiler/ops/op.h"
#include "tests/catch.h"

namespace dovetail::ops {

class Case {
 public:
  explicit Case(std::string op, int outputs = 1);

  Case& input(NdArray value);     // a run-time input
  Case& constant(NdArray value);  // an initializer
  Case& omitted();
  Case& with(std::string attribute, graph::Attribute value);
  Case& ints(std::string attribute, std::vector<std::int64_t> values) {
    return with(std::move(attribute), std::move(values));
  }
  Case& integer(std::string attribute, std::int64_t value) { return with(std::move(attribute), value); }
  Case& real(std::string attribute, double value) { return with(std::move(attribute), value); }
  Case& text(std::string attribute, std::string value) { return with(std::move(attribute), std::move(value)); }

  // Fails the test where the node is refused, its program does not verify, or an output does not have the inferred
  // type.
  std::vector<NdArray> run();
  NdArray run1() { return run().at(0); }
  loops::Program program();
  const graph::Graph& graph();                          // with the node, its types inferred
  std::map<std::string, NdArray> named_inputs() const;  // of that graph. Precondition: graph() was called
  // The text of infer's diagnostics; fails the test where the node is accepted.
  std::string refusal();

 private:
  void add_node();

  graph::Graph graph_;
  graph::Node node_;
  std::vector<NdArray> arguments_;  // by operand position
  int outputs_;
  graph::NodeId id_;
};

inline NdArray floats(const Shape& shape, const std::vector<float>& values) {
  return NdArray::from<float>(shape, values);
}
// A constant int64 list.
NdArray list(const std::vector<std::int64_t>& values);
// Uniform integers in [low, high]: float sums are exact while they stay small.
NdArray random_whole(std::mt19937& rng, DType dtype, const Shape& shape, int low = -4, int high = 4);
// Equal within `tolerance` relative to max(1, |expected|); dtype and shape equal.
void require_close(const NdArray& actual, const NdArray& expected, double tolerance = 1e-5);

// Row-major counting over a shape: f(position).
template <typename F>
void for_each_index(const Shape& shape, F f) {
  Shape position(shape.size(), 0);
  for (std::int64_t n = element_count(shape); n > 0; --n) {
    f(position);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++position[i] < shape[i]) break;
      position[i] = 0;
    }
  }
}
std::int64_t flat(const Shape& shape, const Shape& position);

}  // namespace dovetail::ops

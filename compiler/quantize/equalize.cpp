#include "compiler/quantize/equalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ndarray.h"
#include "compiler/passes/rewriting.h"
#include "compiler/quantize/insert_qdq.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr int kMostRounds = 20, kMostExponent = 16;

struct Pair {
  NodeId first, second;
  std::int64_t channels = 0;
  std::int64_t columns = 1;  // elements per channel in the second layer's input: for a Gemm after Flatten, the area
};

// Whether the node keeps channels separate and commutes with positive factors.
bool is_homogeneous(const Node& node) {
  constexpr std::array<std::string_view, 6> kOps{"Relu",        "LeakyRelu",     "MaxPool",
                                                 "AveragePool", "GlobalMaxPool", "GlobalAveragePool"};
  return std::ranges::find(kOps, std::string_view(node.op)) != kOps.end();
}

// Whether the result has a row per sample, with the channels one after the other.
bool makes_rows(const Graph& graph, const Node& node) {
  if (node.op != "Flatten" && node.op != "Reshape") return false;
  const Shape &from = graph.value(node.inputs[0]).type.shape, &to = graph.value(node.outputs[0]).type.shape;
  return from.size() >= 2 && to.size() == 2 && to[0] == from[0];
}

// Whether the value is a float constant that only this node reads.
bool is_own_constant(const Graph& graph, ValueId value) {
  return graph.is_constant(value) && graph.value(value).type.dtype == DType::float32 && passes::used_once(graph, value);
}

bool is_layer(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul") return false;
  if (!is_own_constant(graph, node.inputs[1]) || graph.is_constant(node.inputs[0])) return false;
  if (node.op == "MatMul" && graph.value(node.inputs[1]).type.shape.size() != 2) return false;
  return node.op != "Gemm" ||
         (graph::int_attribute(node, "transA", 0) == 0 && graph::float_attribute(node, "alpha", 1) > 0 &&
          graph::float_attribute(node, "beta", 1) == 1);
}

// Whether its outputs can be scaled: the weight and the bias, which must have a number per output.
bool scales_outputs(const Graph& graph, const Node& node, std::int64_t channels) {
  if (node.op == "MatMul") return false;  // its bias is a separate node
  if (!passes::has_input(node, 2)) return true;
  return is_own_constant(graph, node.inputs[2]) && graph.value(node.inputs[2]).type.shape == Shape{channels};
}

std::optional<Pair> pair_from(const Graph& graph, NodeId first) {
  const Node& node = graph.node(first);
  const Shape& shape = graph.value(node.outputs[0]).type.shape;
  if (shape.size() < 2) return std::nullopt;
  Pair pair{first, {}, shape[1], 1};
  if (!scales_outputs(graph, node, pair.channels)) return std::nullopt;
  for (ValueId value = node.outputs[0];;) {
    if (!passes::used_once(graph, value)) return std::nullopt;
    const NodeId user = graph.users(value)[0];
    const Node& next = graph.node(user);
    if (next.inputs[0] != value) return std::nullopt;
    if (is_layer(graph, user)) {
      pair.second = user;
      return pair;
    }
    if (makes_rows(graph, next)) {
      const Shape& read = graph.value(value).type.shape;
      for (std::size_t i = 2; i < read.size(); ++i) pair.columns *= read[i];
    } else if (!is_homogeneous(next) || next.outputs.size() != 1) {
      return std::nullopt;
    }
    value = next.outputs[0];
  }
}

// Calls visit(channel, element) for each element of the first layer's weight.
template <typename Visit>
void each_output(const Graph& graph, const Pair& pair, Visit visit) {
  const Node& node = graph.node(pair.first);
  const NdArray& weight = *graph.value(node.inputs[1]).constant;
  const std::int64_t axis = output_axis(node, weight.rank());
  for (std::int64_t i = 0; i < weight.count(); ++i) visit(slice_of(weight, axis, i), i);
}

// The same for the second layer's weight: the channel that the element multiplies.
template <typename Visit>
void each_input(const Graph& graph, const Pair& pair, Visit visit) {
  const Node& node = graph.node(pair.second);
  const NdArray& weight = *graph.value(node.inputs[1]).constant;
  if (node.op == "Conv") {
    const std::int64_t groups = graph::int_attribute(node, "group", 1), outputs = weight.shape()[0] / groups;
    for (std::int64_t i = 0; i < weight.count(); ++i)
      visit(slice_of(weight, 0, i) / outputs * weight.shape()[1] + slice_of(weight, 1, i), i);
    return;
  }
  const std::int64_t axis = 1 - output_axis(node, weight.rank());
  for (std::int64_t i = 0; i < weight.count(); ++i) visit(slice_of(weight, axis, i) / pair.columns, i);
}

// Whether the second layer has a column for each element of each channel.
bool fits(const Graph& graph, const Pair& pair) {
  const Node& node = graph.node(pair.second);
  const Shape& weight = graph.value(node.inputs[1]).type.shape;
  if (node.op == "Conv")
    return weight[1] * graph::int_attribute(node, "group", 1) == pair.channels && pair.columns == 1;
  const Shape& read = graph.value(node.inputs[0]).type.shape;
  const auto axis = static_cast<std::size_t>(1 - output_axis(node, static_cast<int>(weight.size())));
  return read.size() == 2 && weight[axis] == pair.channels * pair.columns;
}

// Exponents of the factors; all 0: nothing to do.
std::vector<int> factors(const Graph& graph, const Pair& pair) {
  const auto channels = static_cast<std::size_t>(pair.channels);
  std::vector<double> made(channels), read(channels);
  const NdArray &first = *graph.value(graph.node(pair.first).inputs[1]).constant,
                &second = *graph.value(graph.node(pair.second).inputs[1]).constant;
  const auto raise = [](double& largest, double weight) { largest = std::max(largest, std::abs(weight)); };
  each_output(graph, pair,
              [&](std::int64_t c, std::int64_t i) { raise(made[static_cast<std::size_t>(c)], first.as_double(i)); });
  each_input(graph, pair,
             [&](std::int64_t c, std::int64_t i) { raise(read[static_cast<std::size_t>(c)], second.as_double(i)); });
  std::vector<int> exponents(channels, 0);
  for (std::size_t c = 0; c < channels; ++c)
    if (std::isnormal(made[c]) && std::isnormal(read[c]))
      exponents[c] =
          std::clamp(static_cast<int>(std::nearbyint(std::log2(made[c] / read[c]) / 2)), -kMostExponent, kMostExponent);
  return exponents;
}

void scale(NdArray& array, std::int64_t element, int exponent) {
  array.set_double(element, std::ldexp(array.as_double(element), exponent));
}

void apply(Graph& graph, const Pair& pair, const std::vector<int>& exponents) {
  const auto of = [&](std::int64_t channel) { return exponents[static_cast<std::size_t>(channel)]; };
  NdArray& first = *graph.value(graph.node(pair.first).inputs[1]).constant;
  each_output(graph, pair, [&](std::int64_t c, std::int64_t i) { scale(first, i, -of(c)); });
  if (passes::has_input(graph.node(pair.first), 2)) {
    NdArray& bias = *graph.value(graph.node(pair.first).inputs[2]).constant;
    for (std::int64_t c = 0; c < bias.count(); ++c) scale(bias, c, -of(c));
  }
  NdArray& second = *graph.value(graph.node(pair.second).inputs[1]).constant;
  each_input(graph, pair, [&](std::int64_t c, std::int64_t i) { scale(second, i, of(c)); });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> equalize(Graph& graph) {
  std::vector<Pair> pairs;
  for (const NodeId id : graph.topological_order())
    if (is_layer(graph, id))
      if (const auto pair = pair_from(graph, id); pair && fits(graph, *pair)) pairs.push_back(*pair);
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    for (const Pair& pair : pairs) {
      const std::vector<int> exponents = factors(graph, pair);
      if (std::ranges::all_of(exponents, [](int exponent) { return exponent == 0; })) continue;
      apply(graph, pair, exponents);
      changed = true;
    }
    if (!changed) break;
  }
  std::vector<std::pair<std::string, std::string>> names;
  for (const Pair& pair : pairs) names.emplace_back(graph.node(pair.first).name, graph.node(pair.second).name);
  return names;
}

}  // namespace dovetail::quantize

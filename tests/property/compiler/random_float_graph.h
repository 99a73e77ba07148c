// Random graphs of float operators.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/ndarray.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/op.h"
#include "tests/catch.h"
#include "tests/property/compiler/random_int8_graph.h"

namespace dovetail::test {

// A chain of operators over images. Elements are small multiples of a half: sums of a few layers are exact in any
// order, and a constant that is truncated to an integer shows.
struct RandomFloatGraph {
  graph::Graph graph;
  Draw draw;

  explicit RandomFloatGraph(std::uint64_t seed) : draw(seed) { graph.name = fmt::format("random{}", seed); }

  NdArray halves(const Shape& shape, std::int64_t low, std::int64_t high) {
    NdArray array(DType::float32, shape);
    for (auto& value : array.data<float>()) value = static_cast<float>(draw.between(2 * low, 2 * high)) / 2;
    return array;
  }
  graph::ValueId add(const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {}) {
    graph::Node node;
    node.name = graph.unique_node_name(op);
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.origins = {node.name};
    node.outputs = {graph.add_value(node.name + "_out", {})};
    const graph::ValueId output = node.outputs[0];
    const graph::NodeId id = graph.add_node(std::move(node));
    const auto status = ops::infer(graph, id);
    REQUIRE((status.ok() ? "" : to_string(status.errors())) == "");
    return output;
  }
  using Ints = std::vector<std::int64_t>;

  // x, int8 weights of small integers, scales of 1, and sometimes a bias and zero points.
  std::vector<graph::ValueId> int8_weight(graph::ValueId x, const Shape& shape, std::int64_t outputs) {
    const bool zero_points = draw.between(0, 2) == 0;
    std::vector<graph::ValueId> operands{x, graph.add_constant("w", draw.int8(shape, -1, 1)),
                                         graph.add_constant("s", halves({outputs}, 1, 1)), graph::ValueId{}};
    if (draw.coin()) operands[3] = graph.add_constant("b", halves({outputs}, -4, 4));
    if (zero_points) operands.push_back(graph.add_constant("z", draw.int8({outputs}, -1, 1)));
    while (!operands.back().valid()) operands.pop_back();
    return operands;
  }

  graph::ValueId window(graph::ValueId x, bool pool) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t kh = draw.between(1, std::min<std::int64_t>(4, shape[2])),
                       kw = draw.between(1, std::min<std::int64_t>(4, shape[3]));
    graph::Attributes attributes{{"strides", Ints{draw.between(1, 3), draw.between(1, 2)}},
                                 {"pads", Ints{draw.between(0, kh - 1), draw.between(0, kw - 1),
                                               draw.between(0, kh - 1), draw.between(0, kw - 1)}}};
    if (pool) {
      attributes["kernel_shape"] = Ints{kh, kw};
      return add("MaxPool", {x}, attributes);
    }
    const bool depthwise = draw.between(0, 2) == 0;
    const std::int64_t groups = depthwise ? shape[1] : draw.between(0, 3) == 0 ? pick(divisors_of(shape[1])) : 1;
    const std::int64_t outputs = depthwise    ? shape[1]
                                 : groups > 1 ? groups * pick({1, 4, 8, 17})
                                              : pick({1, 3, 8, 16, 17, 24, 40, 65, 100});
    if (groups > 1 || depthwise) attributes["group"] = groups;
    const Shape kernel{outputs, shape[1] / groups, kh, kw};
    if (draw.between(0, 3) == 0) {
      std::vector<graph::ValueId> operands = int8_weight(x, kernel, outputs);
      return add("dovetail.wconv", operands, attributes);
    }
    std::vector<graph::ValueId> inputs{x, graph.add_constant("w", halves(kernel, -1, 1))};
    if (draw.coin()) inputs.push_back(graph.add_constant("b", halves({outputs}, -4, 4)));
    return add("Conv", inputs, attributes);
  }
  std::int64_t pick(const std::vector<std::int64_t>& values) {
    return values[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

  static std::vector<std::int64_t> divisors_of(std::int64_t value) {
    std::vector<std::int64_t> all;
    for (std::int64_t d = 1; d <= value; ++d)
      if (value % d == 0) all.push_back(d);
    return all;
  }
  graph::ValueId reshape(graph::ValueId x, const Shape& shape) {
    NdArray to(DType::int64, {static_cast<std::int64_t>(shape.size())});
    for (std::size_t d = 0; d < shape.size(); ++d) to.set_int64(static_cast<std::int64_t>(d), shape[d]);
    return add("Reshape", {x, graph.add_constant("shape", to)});
  }
  // A convolution in one dimension or in three, dense or grouped; images before and after it.
  graph::ValueId other_rank(graph::ValueId x) {
    const Shape image = graph.value(x).type.shape;
    const Shape shape =
        draw.coin() ? Shape{image[0], image[1], image[2] * image[3]} : Shape{image[0], image[1], image[2], 1, image[3]};
    const std::int64_t groups = draw.coin() ? 1 : pick(divisors_of(shape[1])), outputs = groups * pick({1, 5, 8, 17});
    Shape kernel{outputs, shape[1] / groups};
    Ints pads, strides;
    for (std::size_t d = 2; d < shape.size(); ++d) {
      kernel.push_back(draw.between(1, std::min<std::int64_t>(3, shape[d])));
      pads.push_back(draw.between(0, kernel.back() - 1));
      strides.push_back(draw.between(1, 2));
    }
    pads.insert(pads.end(), pads.begin(), pads.end());
    std::vector<graph::ValueId> inputs{reshape(x, shape), graph.add_constant("w", halves(kernel, -1, 1))};
    if (draw.coin()) inputs.push_back(graph.add_constant("b", halves({outputs}, -4, 4)));
    const graph::ValueId y = clip(add("Conv", inputs, {{"group", groups}, {"pads", pads}, {"strides", strides}}));
    const Shape& made = graph.value(y).type.shape;
    return reshape(y, {made[0], made[1], made[2], element_count(made) / made[0] / made[1] / made[2]});
  }

  // Keeps magnitudes small, so that all sums stay exact.
  graph::ValueId clip(graph::ValueId x) {
    return add("Clip", {x, graph.add_constant("low", NdArray::scalar(-3.0F)),
                        graph.add_constant("high", NdArray::scalar(draw.coin() ? 6.0F : 3.0F))});
  }

  void build(int operators) {
    graph::ValueId x = graph.add_value(
        "x", {DType::float32,
              {draw.between(1, 2), pick({1, 3, 4, 8, 16, 17, 24, 32, 64}), draw.between(1, 16), draw.between(1, 18)}});
    graph.inputs.push_back(x);
    for (int i = 0; i < operators; ++i) {
      const Shape shape = graph.value(x).type.shape;
      graph::ValueId y;
      switch (shape.size() == 4 ? draw.between(0, 8) : 9) {
        case 0:
        case 1:
        case 2:
        case 3: y = clip(window(x, false)); break;
        case 4: y = shape[2] * shape[3] > 1 ? window(x, true) : clip(window(x, false)); break;
        case 5: {
          const graph::ValueId branch = add("Relu", {x});
          y = clip(add("Add", {clip(window(x, false)), graph.add_constant("c", halves({1}, -2, 2))}));
          y = add("Concat", {branch, add("Relu", {x})}, {{"axis", std::int64_t{1}}});
          break;
        }
        case 6: y = clip(add("Add", {x, add("Relu", {x})})); break;
        case 7: y = other_rank(x); break;
        case 8: y = add("Flatten", {x}, {{"axis", std::int64_t{1}}}); break;
        default: {
          const std::int64_t outputs = pick({1, 8, 10, 16, 40, 64, 100});
          const bool transposed = draw.coin();
          const std::int64_t depth = shape[1];
          if (draw.between(0, 3) == 0) {
            y = clip(add("dovetail.wgemm", int8_weight(x, {depth, outputs}, outputs)));
            break;
          }
          y = clip(add(
              "Gemm",
              {x, graph.add_constant("w", halves(transposed ? Shape{outputs, depth} : Shape{depth, outputs}, -1, 1)),
               graph.add_constant("b", halves({outputs}, -3, 3))},
              {{"transB", std::int64_t{transposed}}}));
        }
      }
      x = y;
    }
    graph.outputs = {x};
  }
};

}  // namespace dovetail::test

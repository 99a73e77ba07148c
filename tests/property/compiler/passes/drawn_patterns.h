// Random graphs that passes match, with every optional operand and attribute absent, at its default and odd.
#pragma once

#include <string>
#include <vector>

#include "tests/property/compiler/passes/quantized_patterns.h"

namespace dovetail::test {

struct Pattern : QuantizedPatterns {
  using QuantizedPatterns::QuantizedPatterns;

  void product() {
    graph::Attributes attributes;
    const bool gemm = draw.between(0, 3) != 0;
    if (gemm) {
      maybe(attributes, "alpha", {1.0, 0.5, -2.0});
      maybe(attributes, "beta", {1.0, 0.5, 0.0, -1.0, 3.0});
      maybe(attributes, "transA", {std::int64_t{0}, std::int64_t{1}});
      maybe(attributes, "transB", {std::int64_t{0}, std::int64_t{1}});
    }
    const bool across = integer(attributes, "transA", 0) != 0, outputs_first = integer(attributes, "transB", 0) != 0;
    ValueId x = input(across ? Shape{4, 3} : Shape{3, 4});
    x = with_constant(x, {{}, {1}, {shape(x)[1]}, {shape(x)[0], 1}, shape(x)});
    std::vector<ValueId> operands{x, numbers(outputs_first ? Shape{5, 4} : Shape{4, 5})};
    if (gemm && draw.coin())
      operands.push_back(draw.between(0, 4) == 0 ? input({3, 5})
                                                 : numbers(one_of<Shape>({{}, {1}, {5}, {1, 5}, {3, 1}, {3, 5}})));
    finish(with_constant(add(gemm ? "Gemm" : "MatMul", operands, attributes), {{}, {1}, {5}, {1, 5}, {3, 1}, {3, 5}}));
  }

  ValueId norm(ValueId x) {
    const std::int64_t c = shape(x)[1];
    graph::Attributes attributes;
    maybe(attributes, "epsilon", {1e-5, 1e-2, 0.0});
    return add("BatchNormalization", {x, numbers({c}), numbers({c}), numbers({c}), weights({c})}, attributes);
  }
  ValueId pad(ValueId x) {
    graph::Attributes attributes;
    maybe(attributes, "mode", {std::string("constant"), std::string("edge")});
    const bool some = draw.coin();  // `axes`
    std::vector<ValueId> operands{
        x, some ? ints({draw.between(0, 1), draw.between(0, 2)})
                : ints({0, 0, draw.between(0, 1), draw.between(0, 2), 0, 0, draw.between(0, 1), draw.between(0, 1)})};
    const bool value = draw.coin();
    if (value || some) operands.push_back(value ? number(one_of<float>({0, 1, -INFINITY})) : ValueId{});
    if (some) operands.push_back(ints({one_of<std::int64_t>({2, 3, -1, -2})}));
    return add("Pad", operands, attributes);
  }
  graph::Attributes window(bool kernel) {
    graph::Attributes attributes;
    if (kernel) attributes["kernel_shape"] = Ints{3, 3};
    maybe(attributes, "strides", {Ints{1, 1}, Ints{2, 2}, Ints{1, 2}});
    maybe(attributes, "dilations", {Ints{1, 1}, Ints{1, 2}});
    if (draw.coin())
      maybe(attributes, "pads", {Ints{0, 0, 0, 0}, Ints{1, 1, 1, 1}, Ints{0, 1, 0, 1}, Ints{1, 0, 2, 1}});
    else
      maybe(attributes, "auto_pad",
            {std::string("NOTSET"), std::string("VALID"), std::string("SAME_UPPER"), std::string("SAME_LOWER")});
    return attributes;
  }
  void convolution() {
    ValueId x = input({1, 4, 7, 8});
    const std::vector<Shape> shapes{{}, {4, 1, 1}, {1, 4, 1, 1}, {8}};
    switch (draw.between(0, 3)) {
      case 0: x = norm(x); break;
      case 1: x = pad(x); break;
      case 2: x = with_constant(x, shapes); break;
      default: break;
    }
    graph::Attributes attributes = window(draw.coin());
    const std::int64_t group = one_of<std::int64_t>({1, 1, 2, 4});
    if (group > 1 || draw.coin()) attributes["group"] = group;
    std::vector<ValueId> operands{x, numbers({4, 4 / group, 3, 3})};
    if (draw.coin()) operands.push_back(draw.coin() ? numbers({4}) : constant(NdArray(DType::float32, {4})));
    ValueId y = add("Conv", operands, attributes);
    y = draw.coin() ? norm(y) : with_constant(y, {{}, {4, 1, 1}, {1, 4, 1, 1}, {1, 1, 1, 1}});
    finish(draw.coin() ? add("Relu", {y}) : y);
  }
  ValueId bounded(ValueId x) {
    switch (draw.between(0, 5)) {
      case 0: return add("Relu", {x});
      case 1: return add("Sigmoid", {x});
      case 2: return add("Max", {x, number(0)});
      case 3: {
        std::vector<ValueId> operands{x};
        if (draw.coin()) operands.push_back(number(one_of<float>({0, -1})));
        if (draw.coin()) {
          if (operands.size() == 1) operands.emplace_back();
          operands.push_back(number(one_of<float>({1, 6})));
        }
        return add("Clip", operands);
      }
      default: return x;
    }
  }
  void pool() {
    ValueId x = bounded(input({1, 2, 7, 8}));
    if (draw.coin()) x = pad(x);
    const bool average = draw.coin();
    graph::Attributes attributes = window(true);
    maybe(attributes, "ceil_mode", {std::int64_t{0}, std::int64_t{1}});
    if (average) maybe(attributes, "count_include_pad", {std::int64_t{0}, std::int64_t{1}});
    finish(bounded(bounded(add(average ? "AveragePool" : "MaxPool", {x}, attributes))));
  }

  ValueId reduced(const std::string& op, ValueId x, std::int64_t axis) {
    graph::Attributes attributes;
    maybe(attributes, "keepdims", {std::int64_t{1}});
    maybe(attributes, "noop_with_empty_axes", {std::int64_t{0}});
    return add(op, {x, ints({draw.coin() ? axis : axis - static_cast<std::int64_t>(shape(x).size())})}, attributes);
  }
  void normalization() {
    const ValueId x = input({2, 3, 8});
    const std::int64_t axis = draw.between(1, 2), extent = shape(x)[static_cast<std::size_t>(axis)];
    const Shape row = axis == 2 ? Shape{extent} : Shape{extent, 1};
    ValueId y;
    if (draw.coin()) {
      const ValueId d = add("Sub", {x, reduced("ReduceMean", x, axis)});
      const ValueId v = reduced("ReduceMean", draw.coin() ? add("Mul", {d, d}) : add("Pow", {d, number(2)}), axis);
      const ValueId deviation = add("Sqrt", {add("Add", {v, number(1e-2F)})});
      y = draw.coin() ? add("Div", {d, deviation}) : add("Mul", {d, add("Reciprocal", {deviation})});
    } else {
      graph::Attributes attributes;
      maybe(attributes, "axis", {std::int64_t{-1}, std::int64_t{2}, std::int64_t{1}});
      maybe(attributes, "epsilon", {1e-5, 1e-1});
      const Shape normalized = integer(attributes, "axis", -1) == 1 ? Shape{3, 8} : Shape{8};
      std::vector<ValueId> operands{x, draw.coin() ? numbers(normalized) : constant(ones(normalized))};
      if (draw.coin()) operands.push_back(numbers(normalized));
      y = add("LayerNormalization", operands, attributes);
    }
    if (draw.coin()) y = add("Mul", {y, numbers(one_of<Shape>({row, {}, {1}, {8}}))});
    if (draw.coin()) y = add("Add", {numbers(one_of<Shape>({row, {}, {1}, {8}})), y});
    finish(y);
  }
  NdArray ones(const Shape& shape) {
    NdArray array(DType::float32, shape);
    for (auto& value : array.data<float>()) value = 1;
    return array;
  }
  void attention() {
    const ValueId q = input({2, 3, 4}), k = input({2, 4, 5}), v = input({2, 5, 3});
    ValueId scores = add("MatMul", {draw.coin() ? add("Mul", {q, number(0.5F)}) : q, k});
    if (draw.coin()) scores = draw.coin() ? add("Div", {scores, number(2)}) : add("Mul", {number(0.25F), scores});
    if (draw.coin()) scores = add("Add", {scores, draw.coin() ? input({2, 3, 5}) : numbers({1, 5})});
    graph::Attributes attributes;
    maybe(attributes, "axis", {std::int64_t{-1}, std::int64_t{2}, std::int64_t{1}});
    finish(add("MatMul", {add("Softmax", {scores}, attributes), v}));
  }
  void activation() {
    const ValueId x = input({3, 8});
    graph::Attributes attributes;
    switch (draw.between(0, 5)) {
      case 0:
        maybe(attributes, "alpha", {0.2, 1.0 / 6});
        maybe(attributes, "beta", {0.5, 0.25});
        return finish(add("Mul", {x, add("HardSigmoid", {x}, attributes)}));
      case 1: return finish(add("Div", {add("Mul", {x, clip(add("Add", {x, number(3)}))}), number(6)}));
      case 2: return finish(add("Div", {clip(add("Add", {number(3), x})), number(6)}));
      case 3: return finish(add("Mul", {add("Sigmoid", {draw.coin() ? add("Mul", {x, number(1.702F)}) : x}), x}));
      case 4: return finish(add("Mul", {x, add("Tanh", {add("Softplus", {x})})}));
      default: {
        const ValueId e = add("Exp", {add("Neg", {x})});
        return finish(add("Div", {draw.coin() ? x : number(1), add("Add", {number(1), e})}));
      }
    }
  }
  ValueId clip(ValueId x) {
    std::vector<ValueId> operands{x, draw.between(0, 3) ? number(0) : ValueId{}};
    if (draw.between(0, 3)) operands.push_back(number(6));
    return add("Clip", operands);
  }
  void movement() {
    ValueId x = input({2, 3, 4});
    for (int i = 0; i < 4; ++i) {
      graph::Attributes attributes;
      const auto rank = static_cast<std::int64_t>(shape(x).size());
      switch (draw.between(0, 7)) {
        case 0:
          if (rank == 3) maybe(attributes, "perm", {Ints{0, 2, 1}, Ints{1, 0, 2}, Ints{0, 1, 2}});
          x = add("Transpose", {x}, attributes);
          break;
        case 1: {
          std::vector<ValueId> operands{x, ints({0}), ints({1000})};
          const bool steps = draw.coin();
          if (draw.coin() || steps) operands.push_back(draw.coin() || rank == 0 ? ValueId{} : ints({-1}));
          if (steps) operands.push_back(ints({one_of<std::int64_t>({1, 2})}));
          if (rank > 0) x = add("Slice", operands);
          break;
        }
        case 2:
          maybe(attributes, "axis", {std::int64_t{1}, std::int64_t{0}, std::int64_t{-1}});
          if (rank > 1) x = add("Flatten", {x}, attributes);
          break;
        case 3:
          x = add("Unsqueeze", {x, ints({0})});
          x = draw.coin() ? add("Squeeze", {x}) : x;
          break;
        case 4:
          maybe(attributes, "keepdims", {std::int64_t{1}, std::int64_t{0}});
          maybe(attributes, "noop_with_empty_axes", {std::int64_t{0}, std::int64_t{1}});
          x = add(one_of<std::string>({"ReduceSum", "ReduceMean", "ReduceMax"}),
                  draw.coin() || rank == 0 ? std::vector<ValueId>{x} : std::vector<ValueId>{x, ints({-1})}, attributes);
          break;
        case 5:
          if (rank > 0) x = add("Concat", {x, add("Neg", {x})}, {{"axis", one_of<std::int64_t>({0, -1, rank - 1})}});
          break;
        case 6: x = add("Dropout", {x}); break;
        default: x = add("Add", {bounded(x), number(0)}); break;
      }
    }
    finish(x);
  }
  // A pattern that may become one product and a Split.
  void parallel() {
    const bool conv = draw.coin();
    const ValueId x = input(conv ? Shape{1, 3, 4, 4} : Shape{3, 4});
    graph::Attributes attributes;
    if (!conv) {
      maybe(attributes, "alpha", {1.0, 0.5});
      maybe(attributes, "beta", {1.0, 2.0});
    } else {
      maybe(attributes, "pads", {Ints{1, 1, 1, 1}});
    }
    for (int i = 0; i < 3; ++i) {
      const std::int64_t outputs = draw.between(1, 3);
      std::vector<ValueId> operands{x, numbers(conv ? Shape{outputs, 3, 3, 3} : Shape{4, outputs})};
      if (draw.coin()) operands.push_back(numbers({outputs}));
      ValueId y = add(conv ? "Conv" : "Gemm", operands, attributes);
      if (draw.between(0, 2) == 0) y = add("Add", {y, number(1)});
      graph.outputs.push_back(add("Relu", {y}));
    }
  }
};

constexpr void (Pattern::*kPatterns[])() = {
    &Pattern::product,       &Pattern::product,   &Pattern::convolution, &Pattern::convolution, &Pattern::pool,
    &Pattern::normalization, &Pattern::attention, &Pattern::activation,  &Pattern::movement,    &Pattern::parallel,
    &Pattern::quantized,     &Pattern::quantized, &Pattern::dynamic};

inline Pattern make_pattern(int seed) {
  Pattern pattern(static_cast<std::uint64_t>(seed));
  (pattern.*kPatterns[static_cast<std::size_t>(seed) % std::size(kPatterns)])();
  return pattern;
}
inline Values random_inputs(Pattern& pattern) {
  Values inputs;
  for (const ValueId id : pattern.graph.inputs)
    inputs.emplace(pattern.graph.value(id).name, pattern.reals(pattern.shape(id), -2, 2));
  return inputs;
}

}  // namespace dovetail::test

// Quantized forms as exporters write them: operators between DequantizeLinear and QuantizeLinear, with zero points,
// biases and attributes absent, at their default and odd.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/property/compiler/passes/pattern_pieces.h"

namespace dovetail::test {

struct QuantizedPatterns : PatternPieces {
  using PatternPieces::PatternPieces;

  // The largest step of a quantized tensor. The integer form rounds once where the float form rounds several times, so
  // a value that is between two steps may take either (docs/reference/quantization.md).
  double step = 0;

  // `absent`: omits the zero point, which then is that of uint8 by the standard.
  ValueId zero_point(DType dtype, bool absent) {
    if (absent) return {};
    NdArray array(dtype, {});
    array.set_int64(
        0, dtype == DType::int8 ? one_of<std::int64_t>({0, -3, 17, -128}) : one_of<std::int64_t>({0, 128, 100, 255}));
    return constant(std::move(array));
  }
  ValueId quantize(ValueId x) {
    const float scale = one_of<float>({0.05F, 0.03125F, 0.04F});
    step = std::max(step, static_cast<double>(scale));
    const bool is_signed = draw.coin();
    graph::Attributes attributes;
    maybe(attributes, "axis", {std::int64_t{1}, std::int64_t{0}});  // irrelevant where the scale is one number
    maybe(attributes, "saturate", {std::int64_t{1}});               // irrelevant for integers
    return add("QuantizeLinear",
               {x, number(scale), zero_point(is_signed ? DType::int8 : DType::uint8, !is_signed && draw.coin())},
               attributes);
  }
  // Dequantizes with the scale and zero point of the node that quantized the value.
  ValueId dequantize(ValueId q) {
    const graph::Node& node = graph.node(graph.value(q).producer);
    std::vector<ValueId> operands{q, node.inputs[1]};
    if (node.inputs.size() > 2) operands.push_back(node.inputs[2]);
    return add("DequantizeLinear", operands);
  }
  ValueId through_steps(ValueId x) { return dequantize(quantize(x)); }

  // int8 weights with one scale or one for each output, along `axis`.
  ValueId quantized_weights(const Shape& shape, std::int64_t axis) {
    const bool per_output = draw.coin();
    const Shape scales = per_output ? Shape{shape[static_cast<std::size_t>(axis)]} : Shape{};
    graph::Attributes attributes;
    if (per_output || draw.coin()) attributes["axis"] = axis;
    std::vector<ValueId> operands{constant(draw.int8(shape, -127, 127)), constant(reals(scales, 0.002, 0.01))};
    if (draw.coin()) operands.push_back(constant(NdArray(DType::int8, scales)));
    if (!per_output && draw.one_in(6)) operands.resize(2), operands.push_back(zero_point(DType::int8, false));
    return add("DequantizeLinear", operands, attributes);
  }
  // Absent, float, or int32 in steps of both operands.
  ValueId bias(ValueId x, ValueId w, std::int64_t outputs) {
    if (draw.one_in(3)) return {};
    if (draw.coin()) return numbers({outputs});
    const auto scale = [&](ValueId value) {
      return *graph.value(graph.node(graph.value(value).producer).inputs[1]).constant;
    };
    const NdArray of_x = scale(x), of_w = scale(w);
    NdArray steps(DType::int32, {outputs}), scales(DType::float32, of_w.shape());
    for (auto& value : steps.data<std::int32_t>()) value = static_cast<std::int32_t>(draw.between(-1000, 1000));
    for (std::int64_t i = 0; i < of_w.count(); ++i)
      scales.data<float>()[static_cast<std::size_t>(i)] =
          of_x.data<float>()[0] * of_w.data<float>()[static_cast<std::size_t>(i)];
    graph::Attributes attributes;
    if (scales.rank() == 1) attributes["axis"] = std::int64_t{0};
    return add("DequantizeLinear", {constant(std::move(steps)), constant(std::move(scales))}, attributes);
  }

  ValueId quantized_convolution() {
    const ValueId x = through_steps(input({1, 4, 6, 5}));
    graph::Attributes attributes;
    maybe(attributes, "strides", {Ints{1, 1}, Ints{2, 1}});
    maybe(attributes, "dilations", {Ints{1, 1}, Ints{2, 1}});
    maybe(attributes, "pads", {Ints{0, 0, 0, 0}, Ints{1, 1, 1, 1}, Ints{0, 1, 2, 0}});
    const std::int64_t group = one_of<std::int64_t>({1, 1, 2, 4});
    if (group > 1 || draw.coin()) attributes["group"] = group;
    const ValueId w = quantized_weights({4, 4 / group, 3, 3}, 0);
    return add("Conv", {x, w, bias(x, w, 4)}, attributes);
  }
  ValueId quantized_product() {
    const ValueId x = through_steps(input({3, 8}));
    graph::Attributes attributes;
    if (draw.coin()) return add("MatMul", {x, quantized_weights({8, 5}, 1)});
    maybe(attributes, "alpha", {1.0, 0.5});
    maybe(attributes, "beta", {1.0, 2.0, 0.0});
    maybe(attributes, "transB", {std::int64_t{0}, std::int64_t{1}});
    const bool outputs_first = integer(attributes, "transB", 0) != 0;
    const ValueId w = outputs_first ? quantized_weights({5, 8}, 0) : quantized_weights({8, 5}, 1);
    return add("Gemm", {x, w, bias(x, w, 5)}, attributes);
  }
  ValueId of_two() {
    const ValueId a = through_steps(input({2, 3, 4}));
    const ValueId b = draw.one_in(3) ? a : draw.coin() ? through_steps(input({2, 3, 4})) : quantized_weights({3, 1}, 0);
    if (shape(b) == shape(a) && draw.one_in(4))
      return add("Concat", {a, b}, {{"axis", one_of<std::int64_t>({0, 1, -1})}});
    return add(one_of<std::string>({"Add", "Mul", "Sub"}), draw.coin() ? std::vector{a, b} : std::vector{b, a});
  }
  ValueId quantized_pool() {
    const ValueId x = through_steps(input({1, 3, 6, 5}));
    if (draw.one_in(4)) return add("GlobalAveragePool", {x});
    const bool average = draw.coin();
    graph::Attributes attributes{{"kernel_shape", Ints{3, 2}}};
    maybe(attributes, "strides", {Ints{1, 1}, Ints{2, 2}});
    maybe(attributes, "pads", {Ints{0, 0, 0, 0}, Ints{1, 1, 1, 0}});
    maybe(attributes, "ceil_mode", {std::int64_t{0}, std::int64_t{1}});
    if (average) maybe(attributes, "count_include_pad", {std::int64_t{0}, std::int64_t{1}});
    return add(average ? "AveragePool" : "MaxPool", {x}, attributes);
  }
  ValueId of_one() {
    const ValueId x = through_steps(input({2, 3, 4}));
    switch (draw.between(0, 3)) {
      case 0: return add("Reshape", {x, ints({one_of<std::int64_t>({6, -1}), 4})});
      case 1: return add("Transpose", {x});
      case 2: {
        graph::Attributes attributes;
        maybe(attributes, "axis", {std::int64_t{-1}, std::int64_t{1}});
        return add("Softmax", {x}, attributes);
      }
      default:
        return add(one_of<std::string>({"Sigmoid", "Tanh", "HardSigmoid", "LeakyRelu", "Erf", "Neg", "Abs", "Elu"}),
                   {x});
    }
  }
  // Sums of bytes as dynamic quantization makes them, with zero points in every form.
  void dynamic() {
    const bool conv = draw.coin();
    const ValueId x = input(conv ? Shape{1, 4, 6, 5} : Shape{2, 3, 8});
    ValueId q, of_q;
    if (draw.coin()) {
      q = add("DynamicQuantizeLinear", {x}, {}, 3);
      of_q = graph.node(graph.value(q).producer).outputs[2];
    } else {
      q = quantize(x);
      const graph::Node& node = graph.node(graph.value(q).producer);
      if (node.inputs.size() > 2) of_q = node.inputs[2];
    }
    step = 0;  // both forms are integers
    if (of_q.valid() && draw.one_in(3)) of_q = add("Reshape", {of_q, ints({1})});
    const std::int64_t group = conv ? one_of<std::int64_t>({1, 1, 2, 4}) : 1, outputs = 4;
    const Shape of_w = conv ? Shape{outputs, 4 / group, 3, 2} : draw.coin() ? Shape{8, outputs} : Shape{2, 8, outputs};
    const DType dtype = draw.coin() ? DType::int8 : DType::uint8;
    const bool narrow = draw.coin();
    const auto bytes = [&](const Shape& shape) {
      NdArray array(dtype, shape);
      for (std::int64_t i = 0; i < array.count(); ++i)
        array.set_int64(i,
                        (dtype == DType::int8 ? -128 : 0) + (narrow ? draw.between(100, 150) : draw.between(0, 255)));
      return constant(std::move(array));
    };
    const ValueId zero_points = draw.one_in(4) ? ValueId{} : bytes(draw.coin() ? Shape{} : Shape{outputs});
    graph::Attributes attributes;
    if (conv) {
      maybe(attributes, "strides", {Ints{1, 1}, Ints{2, 1}});
      maybe(attributes, "dilations", {Ints{1, 1}, Ints{2, 1}});
      maybe(attributes, "pads", {Ints{0, 0, 0, 0}, Ints{1, 1, 1, 1}, Ints{0, 1, 2, 0}});
      if (group > 1 || draw.coin()) attributes["group"] = group;
    }
    const ValueId y = add(conv ? "ConvInteger" : "MatMulInteger", {q, bytes(of_w), of_q, zero_points}, attributes);
    graph.outputs = {add("Mul", {add("Cast", {y}, {{"to", std::int64_t{info(DType::float32).onnx}}}), number(0.001F)})};
  }
  void quantized() {
    ValueId y;
    switch (draw.between(0, 6)) {
      case 0:
      case 1: y = quantized_convolution(); break;
      case 2:
      case 3: y = quantized_product(); break;
      case 4: y = of_two(); break;
      case 5: y = quantized_pool(); break;
      default: y = of_one(); break;
    }
    if (draw.one_in(3)) y = add("Relu", {y});
    else if (draw.one_in(3)) y = add("Clip", {y, draw.coin() ? number(0) : ValueId{}, number(2)});
    graph.outputs = {through_steps(y)};
  }
};

}  // namespace dovetail::test

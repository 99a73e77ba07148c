#include "compiler/zoo/builder.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "compiler/ops/op.h"

namespace dovetail::zoo {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr double kEpsilon = 1e-5F;  // attributes are binary32 in ONNX
constexpr double kBiasDeviation = 0.05;
constexpr double kRectifiedMean =
    0.3183;  // the squared mean of a rectified normal number, relative to its mean square: 1/π
constexpr double kGeluMeanSquare = 0.4252;  // of GELU after a normal number
constexpr double kSiluMeanSquare = 0.3558;  // of SiLU after a normal number
constexpr double kRotaryBase = 10000;

Ints kernel_of(const Window& window) { return {window.rows, window.columns}; }

}  // namespace

Window square(std::int64_t size, std::int64_t stride, std::int64_t pad) {
  return {size, size, {stride, stride}, {pad, pad, pad, pad}};
}

Window same(std::int64_t rows, std::int64_t columns, std::int64_t stride, const Shape& input) {
  const auto padding = [&](std::int64_t extent, std::int64_t taps) {
    const std::int64_t outputs = (extent + stride - 1) / stride;
    return std::max<std::int64_t>(0, (outputs - 1) * stride + taps - extent);
  };
  const std::int64_t vertical = padding(input[2], rows), horizontal = padding(input[3], columns);
  return {rows,
          columns,
          {stride, stride},
          {vertical / 2, horizontal / 2, vertical - vertical / 2, horizontal - horizontal / 2}};
}

Builder::Builder(std::string_view model, const Choices& choices) : choices_(choices) { model_.graph.name = model; }

graph::ValueId Builder::value(const std::string& name, graph::TensorType type, Statistics expected) {
  const Value id = model_.graph.add_value(name, std::move(type));
  statistics_.resize(model_.graph.values.size());
  statistics_[static_cast<std::size_t>(id.index)] = expected;
  return id;
}

graph::ValueId Builder::constant(const std::string& name, NdArray array) {
  const Value id = model_.graph.add_constant(name, std::move(array));
  statistics_.resize(model_.graph.values.size());
  return id;
}

graph::ValueId Builder::parameter(const std::string& name, NdArray array) {
  model_.parameters += array.count();
  return constant(name, std::move(array));
}

graph::ValueId Builder::node(const std::string& op, const std::string& name, std::vector<Value> inputs,
                             graph::Attributes attributes, Statistics expected) {
  const Value result = value(name, {}, expected);
  graph::Node node{name, op, std::move(inputs), {result}, std::move(attributes), {name}, false};
  const graph::NodeId id = model_.graph.add_node(std::move(node));
  const auto inferred = ops::infer(model_.graph, id);
  DOVETAIL_CHECK(inferred.ok(), to_string(inferred.errors()));
  count_macs(model_.graph.node(id));
  return result;
}

void Builder::count_macs(const graph::Node& node) {
  const std::int64_t outputs = element_count(shape(node.outputs[0]));
  if (node.op == "Conv") {
    const Shape& filter = shape(node.inputs[1]);
    model_.macs += outputs * filter[1] * filter[2] * filter[3];
  } else if (node.op == "Gemm" || node.op == "MatMul") {
    model_.macs += outputs * shape(node.inputs[0]).back();
  }
}

graph::ValueId Builder::input(const std::string& name, const Shape& shape_without_batch) {
  Shape shape{choices_.batch};
  shape.insert(shape.end(), shape_without_batch.begin(), shape_without_batch.end());
  return input_of(name, std::move(shape));
}

graph::ValueId Builder::input_of(const std::string& name, Shape shape) {
  model_.graph.inputs.push_back(value(name, {DType::float32, std::move(shape)}, {1, 0.5}));
  return model_.graph.inputs.back();
}

void Builder::output(Value value) { model_.graph.outputs.push_back(value); }

graph::ValueId Builder::conv(const std::string& name, Value x, std::int64_t outputs, const Window& window, Bias bias,
                             std::int64_t group) {
  const std::int64_t inputs = shape(x)[1] / group, fan_in = inputs * window.rows * window.columns;
  const std::string weight = name + ".weight";
  const double deviation = 1 / std::sqrt(static_cast<double>(fan_in) * expected(x).mean_square);
  std::vector<Value> operands{
      x, parameter(weight, normal_array({outputs, inputs, window.rows, window.columns}, deviation, random(weight)))};
  if (bias == Bias::present)
    operands.push_back(parameter(name + ".bias", normal_array({outputs}, kBiasDeviation, random(name + ".bias"))));
  graph::Attributes attributes{
      {"kernel_shape", kernel_of(window)}, {"strides", window.strides}, {"pads", window.pads}, {"group", group}};
  if (window.dilations != Ints{1, 1}) attributes["dilations"] = window.dilations;
  return node("Conv", name, std::move(operands), std::move(attributes), {1, 0.5});
}

graph::ValueId Builder::batch_norm(const std::string& name, Value x, double branch_scale) {
  const Shape channels{shape(x)[1]};
  const double variance = expected(x).mean_square;
  const Value scale =
      parameter(name + ".scale", uniform_array(channels, 900, 1100, branch_scale, random(name + ".scale")));
  const Value shift =
      parameter(name + ".shift", normal_array(channels, kBiasDeviation * branch_scale, random(name + ".shift")));
  const Value mean =
      constant(name + ".mean", normal_array(channels, kBiasDeviation * std::sqrt(variance), random(name + ".mean")));
  const Value var = constant(name + ".var", uniform_array(channels, 900, 1100, variance, random(name + ".var")));
  return node("BatchNormalization", name, {x, scale, shift, mean, var}, {{"epsilon", kEpsilon}},
              {branch_scale * branch_scale, 0.5});
}

graph::ValueId Builder::relu(const std::string& name, Value x) {
  return node("Relu", name, {x}, {}, {expected(x).mean_square * (1 - expected(x).negative_share), 0});
}

graph::ValueId Builder::relu6(const std::string& name, Value x) {
  const Value low = constant(name + ".low", NdArray::scalar(0.0f)),
              high = constant(name + ".high", NdArray::scalar(6.0f));
  return node("Clip", name, {x, low, high}, {}, {expected(x).mean_square * (1 - expected(x).negative_share), 0});
}

graph::ValueId Builder::add(const std::string& name, Value a, Value b) {
  const double square_a = expected(a).mean_square, square_b = expected(b).mean_square, sum = square_a + square_b;
  return node("Add", name, {a, b}, {},
              {sum, (square_a * expected(a).negative_share + square_b * expected(b).negative_share) / sum});
}

graph::ValueId Builder::concat_channels(const std::string& name, const std::vector<Value>& parts) {
  return node("Concat", name, parts, {{"axis", std::int64_t{1}}}, expected(parts[0]));
}

graph::ValueId Builder::max_pool(const std::string& name, Value x, const Window& window) {
  // The maximum of n rectified numbers with correlated neighbors: about this factor larger in mean square (3.7 for 3x3,
  // measured 3 to 4).
  const double growth = 1 + 0.3 * static_cast<double>(window.rows * window.columns);
  return node("MaxPool", name, {x},
              {{"kernel_shape", kernel_of(window)}, {"strides", window.strides}, {"pads", window.pads}},
              {expected(x).mean_square * growth, expected(x).negative_share});
}

graph::ValueId Builder::average_pool(const std::string& name, Value x, const Window& window) {
  // As if neighbors were independent.
  const auto elements = static_cast<double>(window.rows * window.columns);
  return node("AveragePool", name, {x},
              {{"kernel_shape", kernel_of(window)}, {"strides", window.strides}, {"pads", window.pads}},
              {expected(x).mean_square / elements, expected(x).negative_share});
}

graph::ValueId Builder::global_average_pool(const std::string& name, Value x) {
  return node("GlobalAveragePool", name, {x}, {},
              {expected(x).mean_square * kRectifiedMean, expected(x).negative_share});
}

graph::ValueId Builder::flatten(const std::string& name, Value x) {
  return node("Flatten", name, {x}, {{"axis", std::int64_t{1}}}, expected(x));
}

graph::ValueId Builder::dense(const std::string& name, Value x, std::int64_t outputs) {
  const std::int64_t inputs = shape(x)[1];
  const std::string weight = name + ".weight", bias = name + ".bias";
  const double deviation = 1 / std::sqrt(static_cast<double>(inputs) * expected(x).mean_square);
  return node("Gemm", name,
              {x, parameter(weight, normal_array({outputs, inputs}, deviation, random(weight))),
               parameter(bias, normal_array({outputs}, kBiasDeviation, random(bias)))},
              {{"transB", std::int64_t{1}}}, {1, 0.5});
}

graph::ValueId Builder::linear(const std::string& name, Value x, std::int64_t outputs, double branch_scale, Bias adds) {
  const std::int64_t inputs = shape(x).back();
  const std::string weight = name + ".weight", bias = name + ".bias";
  const double deviation = branch_scale / std::sqrt(static_cast<double>(inputs) * expected(x).mean_square);
  const Statistics result{branch_scale * branch_scale, 0.5};
  const Value product =
      node("MatMul", adds == Bias::present ? name + ".matmul" : name,
           {x, parameter(weight, normal_array({inputs, outputs}, deviation, random(weight)))}, {}, result);
  if (adds == Bias::none) return product;
  return node("Add", name,
              {product, parameter(bias, normal_array({outputs}, kBiasDeviation * branch_scale, random(bias)))}, {},
              result);
}

graph::ValueId Builder::layer_norm(const std::string& name, Value x, float epsilon) {
  const Shape features{shape(x).back()};
  const Value scale = parameter(name + ".scale", uniform_array(features, 900, 1100, 1, random(name + ".scale")));
  const Value shift = parameter(name + ".shift", normal_array(features, kBiasDeviation, random(name + ".shift")));
  return node("LayerNormalization", name, {x, scale, shift},
              {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<double>(epsilon)}}, {1, 0.5});
}

graph::ValueId Builder::rms_norm(const std::string& name, Value x, float epsilon) {
  const Value scale =
      parameter(name + ".scale", uniform_array({shape(x).back()}, 900, 1100, 1, random(name + ".scale")));
  return node("RMSNormalization", name, {x, scale},
              {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<double>(epsilon)}}, {1, 0.5});
}

graph::ValueId Builder::silu(const std::string& name, Value x) {
  const Value gate = node("Sigmoid", name + ".sigmoid", {x}, {}, {0.29, 0});
  return node("Mul", name, {x, gate}, {}, {expected(x).mean_square * kSiluMeanSquare, 0});
}

graph::ValueId Builder::multiply(const std::string& name, Value a, Value b) {
  return node("Mul", name, {a, b}, {}, {expected(a).mean_square * expected(b).mean_square, 0.5});
}

graph::ValueId Builder::gelu(const std::string& name, Value x, Gelu form) {
  return node("Gelu", name, {x}, {{"approximate", std::string(form == Gelu::tanh ? "tanh" : "none")}},
              {expected(x).mean_square * kGeluMeanSquare, 0});
}

graph::ValueId Builder::reshape(const std::string& name, Value x, const Shape& shape) {
  const Value target =
      constant(name + ".shape", NdArray::from<std::int64_t>({static_cast<std::int64_t>(shape.size())}, shape));
  return node("Reshape", name, {x, target}, {}, expected(x));
}

graph::ValueId Builder::transpose(const std::string& name, Value x, const Ints& permutation) {
  return node("Transpose", name, {x}, {{"perm", permutation}}, expected(x));
}

std::vector<graph::ValueId> Builder::split_last_axis(const std::string& name, Value x, int parts) {
  graph::Node split{name,   "Split", {x}, {}, {{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{parts}}},
                    {name}, false};
  for (int part = 0; part < parts; ++part)
    split.outputs.push_back(value(name + "." + std::to_string(part), {}, expected(x)));
  const graph::NodeId id = model_.graph.add_node(std::move(split));
  const auto inferred = ops::infer(model_.graph, id);
  DOVETAIL_CHECK(inferred.ok(), to_string(inferred.errors()));
  return model_.graph.node(id).outputs;
}

graph::ValueId Builder::matmul(const std::string& name, Value a, Value b) {
  return node("MatMul", name, {a, b}, {},
              {static_cast<double>(shape(a).back()) * expected(a).mean_square * expected(b).mean_square, 0.5});
}

graph::ValueId Builder::divide(const std::string& name, Value x, float divisor) {
  const double square = static_cast<double>(divisor) * static_cast<double>(divisor);
  return node("Div", name, {x, constant(name + ".divisor", NdArray::scalar(divisor))}, {},
              {expected(x).mean_square / square, expected(x).negative_share});
}

graph::ValueId Builder::hide_future(const std::string& name, Value x) {
  const std::int64_t rows = shape(x)[shape(x).size() - 2], columns = shape(x).back();
  NdArray visible(DType::boolean, {rows, columns});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j <= i; ++j) visible.set_int64(i * columns + j, 1);
  const Value mask = constant(name + ".visible", std::move(visible));
  const Value lowest = constant(name + ".lowest", NdArray::scalar(std::numeric_limits<float>::lowest()));
  return node("Where", name, {mask, x, lowest}, {}, expected(x));
}

graph::ValueId Builder::softmax(const std::string& name, Value x) {
  // For n scores of unit variance: the sum of squared probabilities is about e / n.
  const auto count = static_cast<double>(shape(x).back());
  return node("Softmax", name, {x}, {{"axis", std::int64_t{-1}}}, {std::min(1.0, 2.718 / count) / count, 0});
}

graph::ValueId Builder::rotate(const std::string& name, Value x, const std::optional<Decoding>& decoding) {
  const std::int64_t positions = decoding ? decoding->positions : shape(x)[2], features = shape(x)[3],
                     half = features / 2;
  NdArray cosines(DType::float32, {positions, features}), sines(DType::float32, {positions, features});
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t f = 0; f < features; ++f) {
      const double exponent = static_cast<double>(f % half) / static_cast<double>(half),
                   angle = static_cast<double>(p) * std::pow(kRotaryBase, -exponent);
      const auto at = static_cast<std::size_t>(p * features + f);
      cosines.data<float>()[at] = static_cast<float>(std::cos(angle));
      sines.data<float>()[at] = static_cast<float>(std::sin(angle));
    }
  const std::vector<Value> halves = split_last_axis(name + ".halves", x, 2);
  const Value negative = node("Neg", name + ".negative", {halves[1]}, {}, expected(x));
  const Value turned =
      node("Concat", name + ".turned", {negative, halves[0]}, {{"axis", std::int64_t{-1}}}, expected(x));
  const auto factors = [&](const std::string& part, NdArray table) {
    const Value all = constant(part, std::move(table));
    if (!decoding) return all;
    const Value row = node("Gather", part + ".row", {all, decoding->position}, {{"axis", std::int64_t{0}}}, {});
    return reshape(part + ".rows", row, {shape(x)[0], 1, 1, features});
  };
  const Value straight =
                  node("Mul", name + ".cos", {x, factors(name + ".cosines", std::move(cosines))}, {}, expected(x)),
              across =
                  node("Mul", name + ".sin", {turned, factors(name + ".sines", std::move(sines))}, {}, expected(x));
  return node("Add", name, {straight, across}, {}, expected(x));
}

graph::ValueId Builder::repeat_heads(const std::string& name, Value x, std::int64_t times) {
  if (times == 1) return x;
  const Shape own = shape(x), repeated{own[0], own[1], times, own[2], own[3]};
  const Value apart = reshape(name + ".apart", x, {own[0], own[1], 1, own[2], own[3]});
  const Value extents = constant(name + ".extents", NdArray::from<std::int64_t>({5}, repeated));
  return reshape(name, node("Expand", name + ".expanded", {apart, extents}, {}, expected(x)),
                 {own[0], own[1] * times, own[2], own[3]});
}

Builder::Decoding Builder::decode(std::int64_t positions) {
  model_.graph.inputs.push_back(value("position", {DType::int64, {choices_.batch}}, {}));
  return {model_.graph.inputs.back(), positions};
}

graph::ValueId Builder::cache(const std::string& name, Value x, const Decoding& decoding) {
  const Value past = input("past." + name, {shape(x)[1], decoding.positions, shape(x)[3]});
  const Value present =
      node("TensorScatter", "present." + name, {past, x, decoding.position}, {{"axis", std::int64_t{2}}}, expected(x));
  output(present);
  return present;
}

graph::ValueId Builder::hide_unwritten(const std::string& name, Value x, const Decoding& decoding) {
  NdArray numbers(DType::int64, {decoding.positions});
  for (std::int64_t i = 0; i < decoding.positions; ++i) numbers.set_int64(i, i);
  const Value at = reshape(name + ".position", decoding.position, {choices_.batch, 1, 1, 1});
  const Value visible =
      node("LessOrEqual", name + ".visible", {constant(name + ".positions", std::move(numbers)), at}, {}, {});
  const Value lowest = constant(name + ".lowest", NdArray::scalar(std::numeric_limits<float>::lowest()));
  return node("Where", name, {visible, x, lowest}, {}, expected(x));
}

graph::ValueId Builder::prepend_token(const std::string& name, Value x) {
  const Shape one{1, 1, shape(x)[2]}, all{shape(x)[0], 1, shape(x)[2]};
  Value token = parameter(name + ".token", normal_array(one, 1, random(name + ".token")));
  const Value extents = constant(name + ".shape", NdArray::from<std::int64_t>({3}, all));
  token = node("Expand", name + ".tokens", {token, extents}, {}, {1, 0.5});
  return node("Concat", name, {token, x}, {{"axis", std::int64_t{1}}}, expected(x));
}

graph::ValueId Builder::add_positions(const std::string& name, Value x) {
  const Shape positions{1, shape(x)[1], shape(x)[2]};
  constexpr double kDeviation = 0.5;
  const Value numbers = parameter(name + ".numbers", normal_array(positions, kDeviation, random(name + ".numbers")));
  return node("Add", name, {x, numbers}, {}, {expected(x).mean_square + kDeviation * kDeviation, 0.5});
}

graph::ValueId Builder::take_position(const std::string& name, Value x, std::int64_t position) {
  const Value index = constant(name + ".position", NdArray::scalar(position));
  return node("Gather", name, {x, index}, {{"axis", std::int64_t{1}}}, expected(x));
}

Model Builder::finish() && {
  const auto verified = graph::verify(model_.graph);
  DOVETAIL_CHECK(verified.ok(), to_string(verified.errors()));
  return std::move(model_);
}

}  // namespace dovetail::zoo

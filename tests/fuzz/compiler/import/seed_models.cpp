#include "tests/fuzz/compiler/import/seed_models.h"

#include <algorithm>
#include <random>

#include "compiler/ops/op.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail::test {
namespace {

using namespace onnx;  // the writer's
using Ints = std::vector<std::int64_t>;

constexpr int kTries = 300;
constexpr std::size_t kModelsPerOperator = 2;

std::vector<std::byte> bytes_of(const Model& model) {
  const onnx::Message message = model.message();
  return {message.bytes().begin(), message.bytes().end()};
}

// A node of `def` with operands and attributes drawn at random from what its signature allows. Most draws are refused
// by the operator's own rules; the caller keeps those that are not.
class Draft {
 public:
  Draft(const ops::OpDef& def, unsigned seed) : def_(def), random_(seed) {}

  Model model() {
    std::vector<std::string> inputs;
    const Shape shape = draw_shape();
    for (std::size_t i = 0; i < def_.signature.inputs.size(); ++i) {
      const ops::InputRule& rule = def_.signature.inputs[i];
      if (rule.presence == ops::Presence::optional && below(2)) break;
      const std::size_t times = rule.presence == ops::Presence::variadic ? 1 + below(3) : 1;
      for (std::size_t k = 0; k < times; ++k) inputs.push_back(operand(i, rule, shape));
    }
    std::vector<onnx::Message> attributes;
    for (const ops::AttributeRule& rule : def_.signature.attributes)
      if (rule.presence == ops::Presence::required || below(4) == 0) attributes.push_back(draw_attribute(rule, shape));
    std::vector<std::string> outputs{"y"};
    for (int i = 1; i < def_.signature.max_outputs && below(2); ++i) outputs.push_back("y" + std::to_string(i));
    model_.nodes = {node(def_.op, inputs, outputs, attributes)};
    for (const std::string& output : outputs) model_.outputs.push_back(onnx::Message().text(1, output));
    return model_;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  Shape draw_shape() {
    constexpr std::int64_t kExtents[] = {1, 2, 3, 4};
    Shape shape(below(5));
    for (std::int64_t& extent : shape) extent = kExtents[below(4)];
    return shape;
  }
  DType draw_type(ops::DTypeSet allowed) {
    for (const DType likely : {DType::float32, DType::int8, DType::int64})
      if (ops::contains(allowed, likely) && below(3) != 0) return likely;
    while (true)
      if (const DType any = kDTypes[below(std::size(kDTypes))].dtype; ops::contains(allowed, any)) return any;
  }
  Ints draw_ints(const Shape& like) {
    Ints values(below(3) ? like.size() : below(5));
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(below(4));
    return values;
  }

  std::string operand(std::size_t position, const ops::InputRule& rule, const Shape& common) {
    const std::string name =
        "x" + std::to_string(position) + "_" + std::to_string(model_.inputs.size() + model_.initialisers.size());
    DType dtype = draw_type(rule.types);
    if (rule.variable != 0) {
      const auto drawn =
          std::find_if(types_.begin(), types_.end(), [&](const auto& each) { return each.first == rule.variable; });
      if (drawn != types_.end()) dtype = drawn->second;
      else types_.emplace_back(rule.variable, dtype);
    }
    const auto& constants = def_.compile_time_inputs;
    if (std::find(constants.begin(), constants.end(), static_cast<int>(position)) != constants.end() || below(4) == 0) {
      const Ints values = draw_ints(common);
      NdArray array(dtype, below(4) ? Shape{static_cast<std::int64_t>(values.size())} : Shape{});
      for (std::int64_t i = 0; i < array.count(); ++i)
        array.set_int64(i, values.empty() ? 0 : values[static_cast<std::size_t>(i)] % 2);
      model_.initialisers.push_back(tensor(name, array));
      return name;
    }
    const Shape shape = below(3) ? common : draw_shape();
    std::vector<Extent> extents;
    for (std::int64_t extent : shape) extents.emplace_back(static_cast<int>(extent));
    model_.inputs.push_back(value_info(name, dtype, extents));
    return name;
  }

  onnx::Message draw_attribute(const ops::AttributeRule& rule, const Shape& shape) {
    constexpr const char* kTexts[] = {"SAME_UPPER", "linear", "nearest", "constant",  "none",
                                      "forward",    "ij->ji", "DCR",     "half_pixel"};
    switch (rule.kind) {
      case ops::AttributeKind::integer: return attribute(rule.name, static_cast<std::int64_t>(below(4)));
      case ops::AttributeKind::real: return attribute(rule.name, 0.5f);
      case ops::AttributeKind::text: return attribute(rule.name, kTexts[below(std::size(kTexts))]);
      case ops::AttributeKind::integers: return attribute(rule.name, draw_ints(shape));
      case ops::AttributeKind::reals:
        return onnx::Message().text(1, rule.name).number(20, 6).real(7, 0.5f).real(7, 2.0f);
      case ops::AttributeKind::texts: return onnx::Message().text(1, rule.name).number(20, 8).text(9, "Tanh");
      case ops::AttributeKind::tensor: return attribute(rule.name, NdArray::from<float>({1}, {1.5f}));
    }
    return {};
  }

  const ops::OpDef& def_;
  std::mt19937 random_;
  Model model_;
  std::vector<std::pair<char, DType>> types_;  // by variable of the signature
};

// Convolution, pooling and shape changes between QuantizeLinear and DequantizeLinear, in the forms of opset 10.
Model quantised() {
  Model model;
  model.opset = 10;
  model.inputs = {value_info("x", DType::float32, {"N", 2, 6, 6})};
  NdArray weights(DType::int8, {4, 2, 3, 3});
  for (std::int64_t i = 0; i < weights.count(); ++i) weights.set_int64(i, i % 7 - 3);
  model.initialisers = {tensor("w", weights), tensor("shape", int64s({0, -1})), tensor("s", NdArray::scalar(0.5f)),
                        tensor("z", NdArray::scalar(std::int8_t{3})), tensor("zero", NdArray::scalar(std::int8_t{0}))};
  model.nodes = {
      node("QuantizeLinear", {"x", "s", "z"}, {"q"}),
      node("DequantizeLinear", {"q", "s", "z"}, {"d"}),
      node("DequantizeLinear", {"w", "s", "zero"}, {"dw"}),
      node("Conv", {"d", "dw"}, {"c"},
           {attribute("pads", Ints{1, 1, 1, 1}), attribute("strides", Ints{2, 2}), attribute("group", 1)}, "conv"),
      node("Clip", {"c"}, {"r"}, {attribute("min", 0.0f), attribute("max", 6.0f)}),
      node("QuantizeLinear", {"r", "s", "z"}, {"rq"}),
      node("DequantizeLinear", {"rq", "s", "z"}, {"rd"}),
      node("MaxPool", {"rd"}, {"p"}, {attribute("kernel_shape", Ints{2, 2})}),
      node("Unsqueeze", {"p"}, {"u"}, {attribute("axes", Ints{0})}),
      node("Squeeze", {"u"}, {"v"}, {attribute("axes", Ints{0})}),
      node("Reshape", {"v", "shape"}, {"f"}),
      node("Softmax", {"f"}, {"y"}, {attribute("axis", 1)})};
  model.outputs = {value_info("y", DType::float32, {"N", 16})};
  return model;
}

Model qoperators() {
  Model model;
  NdArray weights(DType::int8, {4, 2, 1, 1}), matrix(DType::int8, {4, 3});
  for (std::int64_t i = 0; i < weights.count(); ++i) weights.set_int64(i, i - 4);
  model.inputs = {value_info("x", DType::uint8, {1, 2, 3, 3})};
  model.initialisers = {tensor("w", weights), tensor("s", NdArray::scalar(0.25f)),
                        tensor("z", NdArray::scalar(std::uint8_t{128})), tensor("zw", NdArray::scalar(std::int8_t{0})),
                        tensor("b", NdArray(DType::int32, {4}))};
  model.nodes = {node("QLinearConv", {"x", "s", "z", "w", "s", "zw", "s", "z", "b"}, {"c"}, {}, "qconv"),
                 node("DequantizeLinear", {"c", "s", "z"}, {"y"})};
  model.outputs = {onnx::Message().text(1, "y")};
  return model;
}

// Batch normalisation behind a convolution, a matrix product with a bias, the Shape-Gather-Concat clutter of exporters.
Model floats() {
  Model model;
  model.inputs = {value_info("x", DType::float32, {"N", 2, 4, 4})};
  const auto filled = [](Shape shape) {
    NdArray array(DType::float32, std::move(shape));
    for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, 0.5 + static_cast<double>(i % 5));
    return array;
  };
  model.initialisers = {tensor("w", filled({3, 2, 3, 3})),
                        tensor("g", filled({3})),
                        tensor("m", filled({12, 5})),
                        tensor("b", filled({5})),
                        tensor("zero", NdArray::scalar(std::int64_t{0})),
                        tensor("axis", int64s({0})),
                        tensor("rest", int64s({-1}))};
  model.nodes = {node("Conv", {"x", "w"}, {"c"}),
                 node("BatchNormalization", {"c", "g", "g", "g", "g"}, {"n"}),
                 node("Relu", {"n"}, {"r"}),
                 node("Identity", {"r"}, {"i"}),
                 node("Shape", {"i"}, {"s"}),
                 node("Gather", {"s", "zero"}, {"batch"}),
                 node("Unsqueeze", {"batch", "axis"}, {"u"}),
                 node("Concat", {"u", "rest"}, {"to"}, {attribute("axis", 0)}),
                 node("Reshape", {"i", "to"}, {"f"}),
                 node("MatMul", {"f", "m"}, {"p"}),
                 node("Add", {"p", "b"}, {"y"})};
  model.outputs = {onnx::Message().text(1, "y")};
  return model;
}

}  // namespace

std::vector<SeedModel> seed_models() {
  std::vector<SeedModel> seeds;
  for (const auto& [name, model] :
       {std::pair{"quantised", quantised()}, {"qoperators", qoperators()}, {"floats", floats()}})
    seeds.push_back({name, bytes_of(model)});
  for (const ops::OpDef& def : ops::all()) {
    std::size_t kept = 0;
    for (unsigned seed = 0; seed < kTries && kept < kModelsPerOperator; ++seed) {
      const Model model = Draft(def, seed).model();
      if (model.import().ok()) seeds.push_back({std::string(def.op) + "_" + std::to_string(kept++), bytes_of(model)});
    }
  }
  return seeds;
}

}  // namespace dovetail::test

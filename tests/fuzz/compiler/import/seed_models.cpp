#include "tests/fuzz/compiler/import/seed_models.h"

#include <fmt/format.h>

#include "compiler/export/onnx.h"
#include "compiler/import/onnx.h"
#include "compiler/ops/op.h"
#include "tests/generator_graphs/random_node.h"
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

// Convolution, pooling and shape changes between QuantizeLinear and DequantizeLinear, in the forms of opset 10.
Model quantized() {
  Model model;
  model.opset = 10;
  model.inputs = {value_info("x", DType::float32, {"N", 2, 6, 6})};
  NdArray weights(DType::int8, {4, 2, 3, 3});
  for (std::int64_t i = 0; i < weights.count(); ++i) weights.set_int64(i, i % 7 - 3);
  model.initializers = {tensor("w", weights), tensor("shape", int64s({0, -1})), tensor("s", NdArray::scalar(0.5f)),
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
  model.initializers = {tensor("w", weights), tensor("s", NdArray::scalar(0.25f)),
                        tensor("z", NdArray::scalar(std::uint8_t{128})), tensor("zw", NdArray::scalar(std::int8_t{0})),
                        tensor("b", NdArray(DType::int32, {4}))};
  model.nodes = {node("QLinearConv", {"x", "s", "z", "w", "s", "zw", "s", "z", "b"}, {"c"}, {}, "qconv"),
                 node("DequantizeLinear", {"c", "s", "z"}, {"y"})};
  model.outputs = {onnx::Message().text(1, "y")};
  return model;
}

// Batch normalization after a convolution, a matrix product with a bias, the Shape-Gather-Concat clutter of exporters.
Model floats() {
  Model model;
  model.inputs = {value_info("x", DType::float32, {"N", 2, 4, 4})};
  const auto filled = [](Shape shape) {
    NdArray array(DType::float32, std::move(shape));
    for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, 0.5 + static_cast<double>(i % 5));
    return array;
  };
  model.initializers = {tensor("w", filled({3, 2, 3, 3})),
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
       {std::pair{"quantized", quantized()}, {"qoperators", qoperators()}, {"floats", floats()}})
    seeds.push_back({name, bytes_of(model)});
  for (const ops::OpDef& def : ops::all()) {
    std::size_t kept = 0;
    for (unsigned seed = 0; seed < kTries && kept < kModelsPerOperator; ++seed) {
      graph::Graph graph;
      if (!RandomNode(def, seed, {1, 2, 3, 4}).add_to(graph, "n")) continue;
      const auto model = export_onnx(graph, "a seed");
      if (model && import::import_onnx(*model, "a seed"))
        seeds.push_back({fmt::format("{}_{}", def.op, kept++), *model});
    }
  }
  return seeds;
}

}  // namespace dovetail::test

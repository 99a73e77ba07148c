// Older forms of operators after import: each is the form of opset 21.
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using namespace test::onnx;

namespace {

using Ints = std::vector<std::int64_t>;

// The lines of the nodes of a model with one node on x: float32[2, 3, 4].
std::string imported(std::int64_t opset, const Message& only, const std::vector<Message>& initializers = {}) {
  Model model;
  model.opset = opset;
  model.inputs = {value_info("x", DType::float32, {2, 3, 4})};
  model.initializers = initializers;
  model.nodes = {only};
  model.outputs = {Message().text(1, "y")};
  const auto result = model.import();
  if (!result) return to_string(result.errors());
  const std::string text = to_string(result->graph);
  return text.substr(text.find('\n') + 1);
}

}  // namespace

TEST_CASE("normalize: attributes that became inputs") {
  CHECK(imported(10, node("Clip", {"x"}, {"y"}, {attribute("max", 6.0f)}, "n")) ==
        "  constant %n/max: float32[] = 6.0\n  %y: float32[2, 3, 4] = Clip(%x, _, %n/max)  // n\n");
  CHECK(imported(10, node("Pad", {"x"}, {"y"}, {attribute("pads", Ints{0, 0, 1, 0, 0, 1}), attribute("value", 2.0f)},
                          "n")) ==
        "  constant %n/pads: int64[6] = [0, 0, 1, 0, 0, 1]\n  constant %n/value: float32[] = 2.0\n  %y: float32[2, 3, "
        "6] = Pad(%x, %n/pads, %n/value)  // n\n");
  CHECK(
      imported(9, node("Slice", {"x"}, {"y"},
                       {attribute("starts", Ints{1}), attribute("ends", Ints{3}), attribute("axes", Ints{2})}, "n")) ==
      "  constant %n/starts: int64[1] = [1]\n  constant %n/ends: int64[1] = [3]\n  constant %n/axes: int64[1] = [2]\n"
      "  %y: float32[2, 3, 2] = Slice(%x, %n/starts, %n/ends, %n/axes)  // n\n");
  CHECK(imported(12, node("Unsqueeze", {"x"}, {"y"}, {attribute("axes", Ints{0})}, "n")) ==
        "  constant %n/axes: int64[1] = [0]\n  %y: float32[1, 2, 3, 4] = Unsqueeze(%x, %n/axes)  // n\n");
  CHECK(imported(17, node("ReduceMean", {"x"}, {"y"}, {attribute("axes", Ints{2}), attribute("keepdims", 0)}, "n")) ==
        "  constant %n/axes: int64[1] = [2]\n  %y: float32[2, 3] = ReduceMean(%x, %n/axes) {keepdims=0}  // n\n");
}

TEST_CASE("normalize: Softmax before opset 13 works on a matrix") {
  CHECK(imported(12, node("Softmax", {"x"}, {"y"}, {attribute("axis", 2)}, "n")) ==
        "  %y: float32[2, 3, 4] = Softmax(%x) {axis=2}  // n\n");
  CHECK(imported(12, node("Softmax", {"x"}, {"y"}, {}, "n")) ==
        "  constant %y/matrix_shape: int64[2] = [2, 12]\n  constant %y/shape: int64[3] = [2, 3, 4]\n"
        "  %y/matrix: float32[2, 12] = Reshape(%x, %y/matrix_shape)  // n/to_matrix <- n\n"
        "  %y/softmax: float32[2, 12] = Softmax(%y/matrix) {axis=1}  // n\n"
        "  %y: float32[2, 3, 4] = Reshape(%y/softmax, %y/shape)  // n/from_matrix <- n\n");
  CHECK(imported(13, node("Softmax", {"x"}, {"y"}, {attribute("axis", 1)}, "n")) ==
        "  %y: float32[2, 3, 4] = Softmax(%x) {axis=1}  // n\n");
  CHECK_THAT(imported(12, node("Softmax", {"x"}, {"y"}, {attribute("axis", 5)}, "n")),
             ContainsSubstring("axis 5 does not exist for rank 3"));
}

TEST_CASE("normalize: unused outputs of inference are removed, used ones are refused") {
  CHECK(imported(9, node("Dropout", {"x"}, {"y", "mask"}, {attribute("ratio", 0.5f)}, "n")) ==
        "  %y: float32[2, 3, 4] = Dropout(%x)  // n\n");
  const std::vector<Message> statistics = {tensor("s", NdArray(DType::float32, {3}))};
  CHECK(imported(8,
                 node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m", "v"}, {attribute("spatial", 1)}, "n"),
                 statistics) ==
        "  constant %s: float32[3] = [0.0, 0.0, 0.0]\n  %y: float32[2, 3, 4] = BatchNormalization(%x, %s, %s, %s, %s)  "
        "// n\n");
  CHECK_THAT(imported(8, node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"}, {attribute("spatial", 0)}, "n"),
                      statistics),
             ContainsSubstring("spatial = 0"));
}

TEST_CASE("normalize: Upsample becomes Resize") {
  CHECK(
      imported(9, node("Upsample", {"x", "k"}, {"y"}, {}, "n"), {tensor("k", NdArray::from<float>({3}, {1, 1, 2}))}) ==
      "  constant %k: float32[3] = [1.0, 1.0, 2.0]\n"
      "  %y: float32[2, 3, 8] = Resize(%x, _, %k) {coordinate_transformation_mode=\"asymmetric\", "
      "nearest_mode=\"floor\"}  // n\n");
}

TEST_CASE("normalize: Split without sizes, counted by its outputs, gets them") {
  CHECK_THAT(imported(13, node("Split", {"x"}, {"y", "z"}, {attribute("axis", 2)}, "n")),
             ContainsSubstring("Split(%x) {axis=2, num_outputs=2}"));
}

TEST_CASE("normalize: QOperator forms become QDQ") {
  const auto int8 = [](const char* name, Shape shape) { return tensor(name, NdArray(DType::int8, std::move(shape))); };
  const std::vector<Message> constants = {tensor("sx", NdArray::scalar(0.5f)),
                                          int8("z", {}),
                                          int8("w", {5, 3, 1}),
                                          tensor("sw", NdArray::from<float>({1}, {0.25f})),
                                          tensor("sy", NdArray::scalar(1.0f)),
                                          tensor("b", NdArray(DType::int32, {5}))};
  Model model;
  model.inputs = {value_info("x", DType::int8, {2, 3, 4})};
  model.initializers = constants;
  model.nodes = {node("QLinearConv", {"x", "sx", "z", "w", "sw", "z", "sy", "z", "b"}, {"y"}, {}, "n")};
  model.outputs = {value_info("y", DType::int8, {2, 5, 4})};
  const auto result = model.import();
  if (!result) FAIL(to_string(result.errors()));
  const std::string text = to_string(result->graph);
  CHECK_THAT(text, ContainsSubstring("= Conv(%n/x, %n/w, %n/bias)  // n\n"));
  CHECK_THAT(text, ContainsSubstring("constant %n/bias_scale: float32[] = 0.125\n"));
  CHECK_THAT(text, ContainsSubstring("%y: int8[2, 5, 4] = QuantizeLinear(%y/float, %sy, %z)  // n/quantize <- n\n"));
}

}  // namespace dovetail

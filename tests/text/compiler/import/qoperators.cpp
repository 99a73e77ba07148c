// Operators with scales as inputs, after import: ONNX's QOperator forms and those of com.microsoft.
#include "compiler/reference/reference.h"
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using namespace test::onnx;

namespace {

using Ints = std::vector<std::int64_t>;

Message int8(const char* name, const Shape& shape) { return tensor(name, NdArray(DType::int8, shape)); }

// One com.microsoft node on int8 x: [2, 3, 4, 4] and z of the same type.
Result<import::Imported> imported_qoperator(const std::string& op, const std::vector<std::string>& inputs,
                                            const std::vector<Message>& attributes = {},
                                            std::vector<Message> constants = {}) {
  Model model;
  model.inputs = {value_info("x", DType::int8, {2, 3, 4, 4}), value_info("z", DType::int8, {2, 3, 4, 4}),
                  value_info("f", DType::float32, {2, 4}), value_info("m", DType::int8, {2, 4})};
  model.initializers = {tensor("s", NdArray::scalar(0.5f)), int8("o", {}),
                        tensor("s1", NdArray::from<float>({1}, {0.25f}))};
  model.initializers.insert(model.initializers.end(), constants.begin(), constants.end());
  Message only = node(op, inputs, {"y"}, attributes, "n");
  only.text(7, "com.microsoft");
  model.nodes = {only};
  model.outputs = {Message().text(1, "y")};
  return model.import();
}

std::string text(const Result<import::Imported>& result) {
  if (!result) return to_string(result.errors());
  const std::string all = to_string(result->graph);
  return all.substr(all.find('\n') + 1);
}

}  // namespace

TEST_CASE("qoperators: com.microsoft's forms become QDQ") {
  CHECK_THAT(text(imported_qoperator("QLinearAdd", {"x", "s", "o", "z", "s", "o", "s1", "o"})),
             ContainsSubstring("%n/a: float32[2, 3, 4, 4] = DequantizeLinear(%x, %s, %o)") &&
                 ContainsSubstring("%y/float: float32[2, 3, 4, 4] = Add(%n/a, %n/b)  // n\n") &&
                 ContainsSubstring("%y: int8[2, 3, 4, 4] = QuantizeLinear(%y/float, %s1/scalar, %o)"));
  CHECK_THAT(text(imported_qoperator("QLinearMul", {"x", "s", "o", "z", "s", "o", "s", "o"})),
             ContainsSubstring("= Mul(%n/a, %n/b)"));
  CHECK_THAT(text(imported_qoperator("QLinearSigmoid", {"x", "s", "o", "s", "o"})),
             ContainsSubstring("= Sigmoid(%n/x)  // n\n"));
  CHECK_THAT(text(imported_qoperator("QLinearLeakyRelu", {"x", "s", "o", "s", "o"}, {attribute("alpha", 0.25f)})),
             ContainsSubstring("= LeakyRelu(%n/x) {alpha=0.25}"));
  CHECK_THAT(
      text(imported_qoperator("QLinearGlobalAveragePool", {"x", "s", "o", "s", "o"}, {attribute("channels_last", 0)})),
      ContainsSubstring("%y/float: float32[2, 3, 1, 1] = GlobalAveragePool(%n/x)"));
  CHECK_THAT(text(imported_qoperator("QLinearReduceMean", {"x", "s", "o", "s", "o"},
                                     {attribute("axes", Ints{1}), attribute("keepdims", 0)})),
             ContainsSubstring("%y/float: float32[2, 4, 4] = ReduceMean(%n/x, %n/axes) {keepdims=0}"));
  CHECK_THAT(
      text(imported_qoperator("QLinearConcat", {"s", "o", "x", "s", "o", "z", "s1", "o"}, {attribute("axis", 1)})),
      ContainsSubstring("%y/float: float32[2, 6, 4, 4] = Concat(%n/x, %n/x_2) {axis=1}"));
  CHECK_THAT(text(imported_qoperator("QLinearWhere", {"c", "x", "s", "o", "z", "s", "o", "s", "o"}, {},
                                     {tensor("c", NdArray(DType::boolean, {4}))})),
             ContainsSubstring("= Where(%c, %n/x, %n/y)"));
}

TEST_CASE("qoperators: images with the channels last are transposed for the pools") {
  const std::string pool =
      text(imported_qoperator("QLinearAveragePool", {"x", "s", "o", "s", "o"},
                              {attribute("kernel_shape", Ints{2, 2}), attribute("channels_last", 1)}));
  CHECK_THAT(pool,
             ContainsSubstring("%n/channels_first: float32[2, 4, 3, 4] = Transpose(%n/x) {perm=[0, 3, 1, 2]}") &&
                 ContainsSubstring("= AveragePool(%n/channels_first) {kernel_shape=[2, 2]}") &&
                 ContainsSubstring("%n/channels_last: float32[2, 2, 3, 4] = Transpose(%y/float) {perm=[0, 2, 3, 1]}") &&
                 ContainsSubstring("%y: int8[2, 2, 3, 4] = QuantizeLinear(%n/channels_last,"));
}

TEST_CASE("qoperators: Softmax follows the operator set that it names") {
  CHECK_THAT(text(imported_qoperator("QLinearSoftmax", {"x", "s", "o", "s", "o"},
                                     {attribute("axis", 1), attribute("opset", 13)})),
             ContainsSubstring("= Softmax(%n/x) {axis=1}"));
  CHECK_THAT(text(imported_qoperator("QLinearSoftmax", {"x", "s", "o", "s", "o"},
                                     {attribute("axis", 1), attribute("opset", 11)})),
             ContainsSubstring("float32[2, 48] = Reshape(%n/x") && ContainsSubstring("float32[2, 48] = Softmax("));
}

TEST_CASE("qoperators: QGemm has a bias in steps of the product, and a float result where no scale is given") {
  const std::vector<Message> constants{int8("w", {5, 4}), tensor("sw", NdArray::from<float>({5}, {1, 2, 3, 4, 5})),
                                       int8("zw", {5}), tensor("c", NdArray(DType::int32, {5}))};
  const std::vector<Message> attributes{attribute("transB", 1), attribute("alpha", 2.0f)};
  const std::string quantized =
      text(imported_qoperator("QGemm", {"m", "s", "o", "w", "sw", "zw", "c", "s", "o"}, attributes, constants));
  CHECK_THAT(quantized,
             ContainsSubstring("constant %n/bias_scale: float32[5] = [1.0, 2.0, 3.0, 4.0, 5.0]") &&
                 ContainsSubstring("%n/b: float32[5, 4] = DequantizeLinear(%w, %sw, %zw) {axis=0}") &&
                 ContainsSubstring("%y/float: float32[2, 5] = Gemm(%n/a, %n/b, %n/bias) {alpha=2.0, transB=1}") &&
                 ContainsSubstring("%y: int8[2, 5] = QuantizeLinear("));
  CHECK_THAT(text(imported_qoperator("QGemm", {"m", "s", "o", "w", "sw", "zw", "c"}, attributes, constants)),
             ContainsSubstring("%y: float32[2, 5] = Gemm("));
}

TEST_CASE("qoperators: an omitted zero point is 0 of the input's type") {
  CHECK_THAT(text(imported_qoperator("QLinearSigmoid", {"x", "s", "", "s"})),
             ContainsSubstring("constant %n/zero_point: int8[] = 0\n") &&
                 ContainsSubstring("%y: int8[2, 3, 4, 4] = QuantizeLinear("));
}

TEST_CASE("qoperators: missing operands are reported") {
  CHECK_THAT(text(imported_qoperator("QLinearAdd", {"x", "s", "o", "z", "s", "o"})),
             ContainsSubstring("cannot import com.microsoft.QLinearAdd") && ContainsSubstring("input 6 is missing"));
  CHECK_THAT(text(imported_qoperator("QLinearConcat", {"s", "o", "x"}, {attribute("axis", 1)})),
             ContainsSubstring("the node has 3 inputs and 1 outputs; expected at least 4 and 1"));
  CHECK_THAT(text(imported_qoperator("QLinearAveragePool", {"x", "s", "o", "s", "o", "o"})),
             ContainsSubstring("the node has 6 inputs and 1 outputs; expected at most 5 and 1"));
}

TEST_CASE("qoperators: attributes of a wrong kind are refused") {
  CHECK_THAT(text(imported_qoperator("QLinearSoftmax", {"x", "s", "o", "s", "o"}, {attribute("opset", "13")})),
             ContainsSubstring("attribute opset is not an integer"));
  CHECK_THAT(
      text(imported_qoperator("QLinearAveragePool", {"x", "s", "o", "s", "o"}, {attribute("channels_last", 1.0f)})),
      ContainsSubstring("attribute channels_last is not an integer"));
  CHECK_THAT(
      text(imported_qoperator("QGemm", {"m", "s", "o", "w", "s", "o"}, {attribute("alpha", 2)}, {int8("w", {4, 5})})),
      ContainsSubstring("attribute alpha is not a number"));
  CHECK_THAT(text(imported_qoperator("QLinearLeakyRelu", {"x", "s", "o", "s", "o"}, {attribute("alpha", "x")})),
             ContainsSubstring("alpha"));
}

TEST_CASE("qoperators: dynamic products are exact sums of integers with a float scale") {
  const NdArray weights = NdArray::from<std::int8_t>({4, 2}, {1, -2, 3, -4, 5, -6, 7, -8});
  const std::vector<Message> constants{tensor("w", weights), tensor("sw", NdArray::scalar(0.5f)),
                                       tensor("b", NdArray::from<float>({2}, {1, -1}))};
  const auto result = imported_qoperator("DynamicQuantizeMatMul", {"f", "w", "sw", "", "b"}, {}, constants);
  CHECK_THAT(text(result),
             ContainsSubstring(
                 "%n/a: uint8[2, 4], %n/a_scale: float32[], %n/a_zero_point: uint8[] = DynamicQuantizeLinear(%f)") &&
                 ContainsSubstring("%n/sums: int32[2, 2] = MatMulInteger(%n/a, %w, %n/a_zero_point)  // n\n"));
  const auto reference = Reference::make(result.value().graph).value();
  // Range 0 to 2.55: scale 0.01, zero point 0, steps 100, 200, 0, 255 and 50, 0, 0, 0.
  const NdArray f = NdArray::from<float>({2, 4}, {1, 2, 0, 2.55f, 0.5f, 0, 0, 0});
  const auto values = reference
                          .run({{"f", f},
                                {"x", NdArray(DType::int8, {2, 3, 4, 4})},
                                {"z", NdArray(DType::int8, {2, 3, 4, 4})},
                                {"m", NdArray(DType::int8, {2, 4})}})
                          .value();
  const double expected[] = {0.005 * (100 + 600 + 1785) + 1, 0.005 * (-200 - 800 - 2040) - 1, 0.005 * 50 + 1,
                             0.005 * -100 - 1};
  for (std::int64_t i = 0; i < 4; ++i) CHECK(values.at("y").as_double(i) == Approx(expected[i]).epsilon(1e-6));

  CHECK_THAT(text(imported_qoperator("MatMulIntegerToFloat", {"m", "w", "s", "sw", "o"}, {}, constants)),
             ContainsSubstring("= MatMulInteger(%m, %w, %o)") && ContainsSubstring("%y: float32[2, 2] = Mul("));
}

}  // namespace dovetail

// Products of float activations and quantized weights: which read bytes, and why others do not.
#include "compiler/passes/list.h"

#include "compiler/reference/reference.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::GraphMaker;
using Ints = std::vector<std::int64_t>;

namespace {

NdArray steps(DType dtype, const Shape& shape) {
  NdArray array(dtype, shape);
  for (std::int64_t i = 0; i < array.count(); ++i)
    array.set_int64(i, (i * 37 + 11) % 200 - (dtype == DType::uint8 ? 0 : 100));
  return array;
}

ValueId weight(GraphMaker& make, DType dtype, const Shape& shape, const NdArray& scale, std::int64_t axis) {
  const ValueId w = make.constant("w", steps(dtype, shape)), s = make.constant("s", scale);
  NdArray zero(dtype, scale.shape());
  for (std::int64_t i = 0; i < zero.count(); ++i) zero.set_int64(i, dtype == DType::uint8 ? 100 + i : 0);
  return make.node("DequantizeLinear", "real", {w, s, make.constant("z", std::move(zero))}, {{"axis", axis}});
}

std::vector<std::string> keep(GraphMaker& make) {
  auto outcome = passes::keep_weights_int8(make.graph);
  if (!outcome) FAIL(to_string(outcome.errors()));
  return outcome->notes;
}

// The value of y before and after the pass, on random x.
void check_same_values(GraphMaker& make, const std::string& form) {
  const std::map<std::string, NdArray> inputs{
      {"x", zoo::normal_array(make.graph.value(make.graph.inputs[0]).type.shape, 1, zoo::Random(4, "x"))}};
  const NdArray before = Reference::make(make.graph).value().run(inputs).value().at("y");
  CHECK_THAT(keep(make).at(0), ContainsSubstring("y_node") && ContainsSubstring("bytes of int8"));
  CHECK_THAT(make.nodes(), ContainsSubstring(form) && !ContainsSubstring("DequantizeLinear"));
  const NdArray after = Reference::make(make.graph).value().run(inputs).value().at("y");
  REQUIRE(after.shape() == before.shape());
  for (std::int64_t i = 0; i < after.count(); ++i)
    CHECK(after.as_double(i) == Approx(before.as_double(i)).epsilon(1e-4).margin(1e-4));
}

}  // namespace

TEST_CASE("keep_weights_int8: convolutions and matrix products") {
  GraphMaker make;
  const NdArray three = NdArray::from<float>({3}, {0.5f, 0.25f, 0.125f});
  const ValueId bias = make.constant("b", NdArray::from<float>({3}, {1, 2, 3}));
  SECTION("Conv, a scale per output") {
    const ValueId x = make.input("x", DType::float32, {1, 2, 5, 5});
    make.output(make.node("Conv", "y", {x, weight(make, DType::int8, {3, 2, 3, 3}, three, 0), bias},
                          {{"pads", Ints{1, 1, 1, 1}}, {"kernel_shape", Ints{3, 3}}}));
    check_same_values(make, "= dovetail.wconv(%x, %y_node/weight, %y_node/scale, %b) {pads=[1, 1, 1, 1]}  // y_node\n");
  }
  SECTION("depthwise Conv, uint8") {
    const ValueId x = make.input("x", DType::float32, {1, 3, 5, 5});
    make.output(
        make.node("Conv", "y", {x, weight(make, DType::uint8, {3, 1, 3, 3}, three, 0)}, {{"group", std::int64_t{3}}}));
    check_same_values(make,
                      "= dovetail.wconv(%x, %y_node/weight, %y_node/scale, _, %y_node/weight_zero_point) {group=3}");
  }
  SECTION("MatMul, one scale") {
    make.output(make.node(
        "MatMul", "y",
        {make.input("x", DType::float32, {2, 4, 6}), weight(make, DType::int8, {6, 3}, NdArray::scalar(0.1f), 1)}));
    check_same_values(make, "%y: float32[2, 4, 3] = dovetail.wgemm(%x, %y_node/weight, %y_node/scale)");
  }
  SECTION("Gemm, transposed") {
    make.output(make.node("Gemm", "y",
                          {make.input("x", DType::float32, {4, 6}), weight(make, DType::int8, {3, 6}, three, 0), bias},
                          {{"transB", std::int64_t{1}}}));
    check_same_values(make, "%y: float32[4, 3] = dovetail.wgemm(%x, %y_node/weight, %y_node/scale, %b)");
  }
}

TEST_CASE("keep_weights_int8: weights that are expanded to float, and the reason") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {4, 6});
  SECTION("scales along the reduction") {
    make.output(make.node("MatMul", "y", {x, weight(make, DType::int8, {6, 3}, NdArray(DType::float32, {6}), 0)}));
    CHECK_THAT(keep(make).at(0), ContainsSubstring("y_node (MatMul) expands its weight to 72 bytes of float32: weight "
                                                   "%real has 6 scales on axis 0, but must have one, or 3 on axis 1"));
  }
  SECTION("a bias for each element") {
    make.output(make.node("Gemm", "y",
                          {x, weight(make, DType::int8, {6, 3}, NdArray::scalar(0.1f), 0),
                           make.constant("c", NdArray(DType::float32, {4, 3}))}));
    CHECK_THAT(keep(make).at(0), ContainsSubstring("the bias has shape [4, 3], but must have [3]"));
  }
}

}  // namespace dovetail

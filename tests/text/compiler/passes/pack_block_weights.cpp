// Products of floats and constants that are quantized in blocks: which read packed weights, and why others do not.
#include "compiler/passes/list.h"

#include "compiler/reference/reference.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::GraphMaker;

namespace {

// Steps in the range of their type, zero points likewise; `shape`: of the matrix, `axis`: of its blocks.
struct BlockWeight {
  DType dtype = DType::int8;
  Shape shape = {20, 6};
  std::int64_t axis = 0, block = 8, least = -8, greatest = 7;
  bool zero_points = true;

  ValueId in(GraphMaker& make) const {
    const auto steps = [&](const Shape& extents, std::int64_t seed) {
      NdArray array(dtype, extents);
      for (std::int64_t i = 0; i < array.count(); ++i)
        array.set_int64(i, least + (i * 37 + seed) % (greatest - least + 1));
      return array;
    };
    Shape blocks = shape;
    auto& extent = blocks[static_cast<std::size_t>(axis < 0 ? axis + 2 : axis)];
    extent = (extent + block - 1) / block;
    NdArray scales(DType::float32, blocks);
    for (std::int64_t i = 0; i < scales.count(); ++i) scales.set_double(i, 0.125 * static_cast<double>(1 + i % 7));
    std::vector<ValueId> inputs{make.constant("w", steps(shape, 11)), make.constant("s", scales)};
    if (zero_points) inputs.push_back(make.constant("z", steps(blocks, 5)));
    return make.node("DequantizeLinear", "real", inputs, {{"axis", axis}, {"block_size", block}});
  }
};

std::vector<std::string> pack(GraphMaker& make) {
  auto outcome = passes::pack_block_weights(make.graph);
  if (!outcome) FAIL(to_string(outcome.errors()));
  return outcome->notes;
}

// The value of y before and after the pass, on random x; the pass's note and the nodes after it.
void check_same_values(GraphMaker& make, const std::string& note, const std::string& form) {
  const std::map<std::string, NdArray> inputs{
      {"x", zoo::normal_array(make.graph.value(make.graph.inputs[0]).type.shape, 1, zoo::Random(4, "x"))}};
  const NdArray before = Reference::make(make.graph).value().run(inputs).value().at("y");
  CHECK_THAT(pack(make).at(0), ContainsSubstring(note));
  CHECK_THAT(make.nodes(), ContainsSubstring(form) && !ContainsSubstring("DequantizeLinear"));
  const NdArray after = Reference::make(make.graph).value().run(inputs).value().at("y");
  REQUIRE(after.shape() == before.shape());
  for (std::int64_t i = 0; i < after.count(); ++i)
    CHECK(after.as_double(i) == Approx(before.as_double(i)).epsilon(1e-4).margin(1e-4));
}

}  // namespace

TEST_CASE("pack_block_weights: products that read 2, 4 or 8 bits") {
  GraphMaker make;
  BlockWeight weight;
  const auto x = [&](Shape shape) { return make.input("x", DType::float32, std::move(shape)); };
  SECTION("MatMul, int4") {
    make.output(make.node("MatMul", "y", {x({2, 20}), weight.in(make)}));
    check_same_values(make, "y_node (MatMul) reads its weight as 72 bytes of 4-bit elements in blocks of 8",
                      "%y: float32[2, 6] = dovetail.packed_gemm(%x, %y_node/weight, %y_node/scales, "
                      "%y_node/zero_points) {bits=4, block_size=8}");
  }
  SECTION("without zero points") {
    weight.zero_points = false;
    make.output(make.node("MatMul", "y", {x({2, 20}), weight.in(make)}));
    check_same_values(make, "4-bit", "dovetail.packed_gemm(%x, %y_node/weight, %y_node/scales) {bits=4");
  }
  SECTION("uint4 without zero points, more rows") {
    weight.dtype = DType::uint8, weight.least = 0, weight.greatest = 15, weight.zero_points = false;
    make.output(make.node("MatMul", "y", {x({12, 20}), weight.in(make)}));
    check_same_values(make, "4-bit", "%y_node/zero_points");
  }
  SECTION("2 bits, a block larger than K, a negative axis") {
    weight.least = -2, weight.greatest = 1, weight.block = 32, weight.axis = -2;
    make.output(make.node("MatMul", "y", {x({3, 20}), weight.in(make)}));
    check_same_values(make, "2-bit elements in blocks of 20", "{bits=2, block_size=20}");
  }
  SECTION("uint8") {
    weight.dtype = DType::uint8, weight.least = 0, weight.greatest = 255;
    make.output(make.node("MatMul", "y", {x({3, 20}), weight.in(make)}));
    check_same_values(make, "8-bit", "{bits=8, block_size=8}");
  }
  SECTION("a stack of rows") {
    make.output(make.node("MatMul", "y", {x({2, 3, 20}), weight.in(make)}));
    check_same_values(make, "4-bit", "%y: float32[2, 3, 6] = Reshape(%y_node/packed, %y_node/shape)");
  }
  SECTION("a vector") {
    make.output(make.node("MatMul", "y", {x({20}), weight.in(make)}));
    check_same_values(make, "4-bit", "%y: float32[6] = Reshape(%y_node/packed, %y_node/shape)");
  }
  SECTION("transposed by a node") {
    weight.shape = {6, 20}, weight.axis = 1;
    const ValueId turned =
        make.node("Transpose", "turned", {weight.in(make)}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    make.output(make.node("MatMul", "y", {x({2, 20}), turned}));
    check_same_values(make, "4-bit", "%y: float32[2, 6] = dovetail.packed_gemm(");
  }
  SECTION("Gemm, transposed, with C") {
    weight.shape = {6, 20}, weight.axis = 1;
    const ValueId c = make.constant("c", NdArray::from<float>({6}, {1, 2, 3, 4, 5, 6}));
    make.output(make.node("Gemm", "y", {x({2, 20}), weight.in(make), c}, {{"transB", std::int64_t{1}}}));
    check_same_values(make, "4-bit", "%y: float32[2, 6] = Add(%y_node/packed, %c)");
  }
}

TEST_CASE("pack_block_weights: products that do not, and the reason") {
  GraphMaker make;
  BlockWeight weight;
  const ValueId x = make.input("x", DType::float32, {4, 20});
  SECTION("blocks of outputs") {
    weight.axis = 1, weight.block = 3;
    make.output(make.node("MatMul", "y", {x, weight.in(make)}));
    CHECK_THAT(pack(make).at(0), ContainsSubstring("y_node (MatMul) does not pack its weight of blocks: its blocks run "
                                                   "along the outputs"));
  }
  SECTION("a factor") {
    make.output(make.node("Gemm", "y", {x, weight.in(make)}, {{"alpha", 2.0}}));
    CHECK_THAT(pack(make).at(0), ContainsSubstring("the node transposes or scales its operands"));
  }
  SECTION("steps of 16 bits") {
    weight.dtype = DType::int16;
    make.output(make.node("MatMul", "y", {x, weight.in(make)}));
    CHECK_THAT(pack(make).at(0), ContainsSubstring("the steps are int16"));
  }
  SECTION("a weight that is not quantized in blocks is left to other passes") {
    make.output(
        make.node("MatMul", "y", {x, make.dequantize("w", make.constant("q", NdArray(DType::int8, {20, 6})), 1, 0)}));
    CHECK(pack(make).empty());
  }
}

}  // namespace dovetail

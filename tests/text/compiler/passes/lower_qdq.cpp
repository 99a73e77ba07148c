// The result of lower_qdq for each pattern, as text, and the patterns it leaves, with the reason.
#include "compiler/passes/list.h"

#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::GraphMaker;
using Ints = std::vector<std::int64_t>;

namespace {

passes::PassOutcome lower(GraphMaker& make) {
  auto outcome = passes::lower_qdq(make.graph);
  if (!outcome) FAIL(to_string(outcome.errors()));
  return *std::move(outcome);
}

NdArray filled(DType dtype, Shape shape, std::int64_t value) {
  NdArray array(dtype, std::move(shape));
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, value);
  return array;
}

// x: int8[1, 2, 4, 4] -> Conv with weight `w`, 3 channels -> what `add_after` adds -> int8 y of scale 2 and zero point
// -3.
template <typename AddAfter>
passes::PassOutcome lower_conv(GraphMaker& make, ValueId w, std::vector<ValueId> bias, const AddAfter& add_after) {
  const ValueId x = make.int8_input("x", {1, 2, 4, 4}, 0.5f, 10);
  std::vector<ValueId> inputs{x, w};
  inputs.insert(inputs.end(), bias.begin(), bias.end());
  const ValueId conv = make.node("Conv", "conv", inputs, {{"pads", Ints{1, 0, 0, 1}}, {"strides", Ints{2, 2}}});
  make.output(make.quantize("y", add_after(conv), 2.0f, -3));
  return lower(make);
}
const auto kNothing = [](ValueId value) { return value; };

ValueId int8_weight(GraphMaker& make) {
  return make.dequantize("w_dq", make.constant("w", filled(DType::int8, {3, 2, 3, 3}, 1)), 0.25f, 0);
}

}  // namespace

TEST_CASE("lower_qdq: convolution") {
  GraphMaker make;
  const auto outcome = lower_conv(make, int8_weight(make), {}, kNothing);
  CHECK(outcome.notes.empty());
  CHECK(
      make.nodes() ==
      "  %y: int8[1, 3, 2, 2] = dovetail.qconv(%x, %conv_node/weight, %conv_node/bias, %conv_node/scale) "
      "{dilations=[1, 1], group=1, pads=[1, 0, 0, 1], "
      "strides=[2, 2], x_zero_point=10, y_max=127, y_min=-128, y_zero_point=-3}  // conv_node <- conv_node, y_node\n");
  CHECK(make.constant_of("conv_node/bias") == filled(DType::int32, {3}, 0));
  CHECK(make.constant_of("conv_node/scale") == NdArray::from<float>({3}, {0.0625f, 0.0625f, 0.0625f}));
}

TEST_CASE("lower_qdq: Relu and Clip become the range") {
  GraphMaker relu;
  lower_conv(relu, int8_weight(relu), {}, [&](ValueId v) { return relu.node("Relu", "r", {v}); });
  CHECK_THAT(relu.nodes(),
             ContainsSubstring("y_max=127, y_min=-3, y_zero_point=-3}  // conv_node <- conv_node, r_node, y_node"));
  GraphMaker clip;
  // 5 / 2 = 2.5 rounds to 2, the even neighbor.
  lower_conv(clip, int8_weight(clip), {}, [&](ValueId v) {
    return clip.node("Clip", "c",
                     {v, clip.constant("lo", NdArray::scalar(-1e30f)), clip.constant("hi", NdArray::scalar(5.0f))});
  });
  CHECK_THAT(clip.nodes(), ContainsSubstring("y_max=-1, y_min=-128,"));
  // Where two ranges do not intersect, the later one wins: max(v, 0), then min with -4, two steps below zero.
  GraphMaker both;
  lower_conv(both, int8_weight(both), {}, [&](ValueId v) {
    const ValueId relu_output = both.node("Relu", "r", {v});
    return both.node(
        "Clip", "c",
        {relu_output, both.constant("lo", NdArray::scalar(-1e30f)), both.constant("hi", NdArray::scalar(-4.0f))});
  });
  CHECK_THAT(both.nodes(), ContainsSubstring("y_max=-5, y_min=-5,"));
}

TEST_CASE("lower_qdq: biases") {
  GraphMaker make;
  // Steps are 0.5 * 0.25 = 0.125; 0.3125 is 2.5 steps: half to even.
  SECTION("float") {
    lower_conv(make, int8_weight(make), {make.constant("b", NdArray::from<float>({3}, {1.0f, 0.3125f, -0.4375f}))},
               kNothing);
    CHECK(make.constant_of("conv_node/bias") == NdArray::from<std::int32_t>({3}, {8, 2, -4}));
  }
  SECTION("int32 of the accumulator's scale, kept as it is") {
    const ValueId b = make.constant("b", NdArray::from<std::int32_t>({3}, {5, -6, 1'000'000'001}));
    lower_conv(make, int8_weight(make),
               {make.node("DequantizeLinear", "b_dq", {b, make.constant("sb", NdArray::scalar(0.125f))})}, kNothing);
    CHECK(make.constant_of("conv_node/bias") == NdArray::from<std::int32_t>({3}, {5, -6, 1'000'000'001}));
  }
  SECTION("int32 of another scale") {
    const ValueId b = make.constant("b", NdArray::from<std::int32_t>({3}, {1, 2, 3}));
    lower_conv(make, int8_weight(make),
               {make.node("DequantizeLinear", "b_dq", {b, make.constant("sb", NdArray::scalar(1.0f))})}, kNothing);
    CHECK(make.constant_of("conv_node/bias") == NdArray::from<std::int32_t>({3}, {8, 16, 24}));
  }
  SECTION("with a zero point") {
    const ValueId b = make.constant("b", NdArray::from<std::int8_t>({3}, {1, 2, 3}));
    const ValueId sb = make.constant("sb", NdArray::scalar(1.0f)),
                  zb = make.constant("zb", filled(DType::int8, {}, -1));
    lower_conv(make, int8_weight(make), {make.node("DequantizeLinear", "b_dq", {b, sb, zb})}, kNothing);
    CHECK(make.constant_of("conv_node/bias") == NdArray::from<std::int32_t>({3}, {16, 24, 32}));
  }
  SECTION("an Add after joins it") {
    const ValueId b = make.constant("b", NdArray::from<float>({3}, {1, 2, 3})),
                  c = make.constant("c", NdArray::from<float>({1, 3, 1, 1}, {10, 20, 30}));
    const auto outcome = lower_conv(make, int8_weight(make), {b}, [&](ValueId v) {
      return make.node("Add", "sum", {v, c});
    });
    CHECK(outcome.notes.empty());
    CHECK(make.constant_of("conv_node/bias") == NdArray::from<std::int32_t>({3}, {88, 176, 264}));
    CHECK_THAT(make.nodes(), ContainsSubstring("// conv_node <- conv_node, sum_node, y_node"));
  }
}

TEST_CASE("lower_qdq: an accumulator that may overflow stays float, with the numbers") {
  GraphMaker make;
  const auto outcome = lower_conv(make, int8_weight(make),
                                  {make.constant("b", NdArray::from<float>({3}, {0, 0, 268435456.0f}))}, kNothing);
  REQUIRE(outcome.notes.size() == 1);
  CHECK(outcome.notes[0] ==
        "conv_node (Conv) stays float: channel 2: the accumulator may reach 2147486132, but must stay below 2147483648 "
        "in int32");
  CHECK_THAT(make.nodes(), ContainsSubstring("= Conv(") && ContainsSubstring("= QuantizeLinear("));
}

TEST_CASE("lower_qdq: uint8 tensors become int8, the border keeps its type") {
  GraphMaker make;
  const ValueId x = make.dequantize("x_dq", make.input("x", DType::uint8, {1, 4}), 0.5f, 128);
  const ValueId w = make.dequantize("w_dq", make.constant("w", filled(DType::uint8, {3, 4}, 130)), 0.25f, 127);
  make.output(
      make.quantize("y", make.node("Gemm", "gemm", {x, w}, {{"transB", std::int64_t{1}}}), 2.0f, 125, DType::uint8));
  CHECK(lower(make).notes.empty());
  CHECK(make.nodes() ==
        "  %x/int8: int8[1, 4] = dovetail.recenter(%x) {to=3}  // x_dq_node/recenter <- x_dq_node\n"
        "  %y/int8: int8[1, 3] = dovetail.qgemm(%x/int8, %gemm_node/weight, %gemm_node/bias, %gemm_node/scale, "
        "%gemm_node/weight_zero_point) "
        "{x_zero_point=0, y_max=127, y_min=-128, y_zero_point=-3}  // gemm_node <- gemm_node, y_node\n"
        "  %y: uint8[1, 3] = dovetail.recenter(%y/int8) {to=2}  // y_node/recenter <- y_node\n");
  CHECK(make.constant_of("gemm_node/weight") == filled(DType::int8, {3, 4}, 2));
  CHECK(make.constant_of("gemm_node/weight_zero_point") == filled(DType::int8, {3}, -1));
}

TEST_CASE("lower_qdq: MatMul takes its weight transposed, scales along its columns") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {2, 5, 2}, 1.0f, 0);
  const ValueId w = make.constant("w", NdArray::from<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, 6})),
                s = make.constant("s", NdArray::from<float>({3}, {1, 2, 4}));
  const ValueId product =
      make.node("MatMul", "m", {x, make.node("DequantizeLinear", "w_dq", {w, s}, {{"axis", std::int64_t{1}}})});
  const ValueId sum = make.node("Add", "sum", {make.constant("b", NdArray::from<float>({3}, {8, 8, 8})), product});
  make.output(make.quantize("y", sum, 2.0f, 0));
  CHECK(lower(make).notes.empty());
  CHECK(make.constant_of("m_node/weight") == NdArray::from<std::int8_t>({3, 2}, {1, 4, 2, 5, 3, 6}));
  CHECK(make.constant_of("m_node/bias") == NdArray::from<std::int32_t>({3}, {8, 4, 2}));
  CHECK(make.constant_of("m_node/scale") == NdArray::from<float>({3}, {0.5f, 1, 2}));
}

TEST_CASE("lower_qdq: sums and differences") {
  GraphMaker make;
  const ValueId a = make.int8_input("a", {4}, 0.5f, 1), b = make.int8_input("b", {4}, 0.25f, 2);
  make.output(make.quantize("y", make.node("Relu", "r", {make.node("Add", "add", {a, b})}), 1.0f, 3));
  const ValueId c = make.int8_input("c", {4}, 0x1.6a09e6p-3f, 0);  // 2^-2.5: its ratio to 0.5 is not one of integers
  make.output(make.quantize("z", make.node("Sub", "sub", {a, c}), 0x1p-20f, 0));
  make.output(make.quantize("d", make.node("Sub", "difference", {b, a}), 1.0f, 0));
  CHECK(lower(make).notes.empty());
  CHECK(make.nodes() ==
        "  %y: int8[4] = dovetail.qadd(%a, %b) {a_multiplier=2.0, a_zero_point=1, b_multiplier=1.0, "
        "b_zero_point=2, scale=0.25, y_max=127, y_min=3, "
        "y_zero_point=3}  // add_node <- add_node, r_node, y_node\n"
        // 255 * (2^19 + 2^17.5) * 2^k < 2^31 holds up to k = 3.
        "  %z: int8[4] = dovetail.qadd(%a, %c) {a_multiplier=4194304.0, a_zero_point=1, b_multiplier=-1482910.375, "
        "b_zero_point=0, scale=0.125, y_max=127, "
        "y_min=-128, y_zero_point=0}  // sub_node <- sub_node, z_node\n"
        "  %d: int8[4] = dovetail.qadd(%b, %a) {a_multiplier=1.0, a_zero_point=2, b_multiplier=-2.0, "
        "b_zero_point=1, scale=0.25, y_max=127, "
        "y_min=-128, y_zero_point=0}  // difference_node <- difference_node, d_node\n");
}

TEST_CASE("lower_qdq: operators that move values work on int8 and keep the model's names") {
  GraphMaker make;
  const ValueId x = make.activation("x", make.input("image", DType::float32, {1, 2, 4, 4}), 0.5f, -128);
  const ValueId pool = make.node("MaxPool", "pool", {x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const ValueId flat = make.node("Flatten", "flat", {make.activation("pool", pool, 0.5f, -128)});
  make.output(make.activation("flat", flat, 0.5f, -128));
  CHECK(lower(make).notes.empty());
  CHECK(make.nodes() ==
        "  %x_q: int8[1, 2, 4, 4] = QuantizeLinear(%image, %x_q_s, %x_q_z)  // x_q_node\n"
        "  %pool_q: int8[1, 2, 2, 2] = MaxPool(%x_q) {kernel_shape=[2, 2], strides=[2, 2]}  // pool_node\n"
        "  %flat_q: int8[1, 8] = Flatten(%pool_q)  // flat_node\n"
        "  %flat_dq: float32[1, 8] = DequantizeLinear(%flat_q, %flat_dq_s, %flat_dq_z)  // flat_dq_node\n");
}

TEST_CASE("lower_qdq: Concat of unequal scales rescales each input to the output's") {
  GraphMaker make;
  const ValueId a = make.int8_input("a", {1, 4}, 0.5f, 1), b = make.int8_input("b", {1, 4}, 0.25f, 2);
  make.output(make.quantize("y", make.node("Concat", "cat", {a, b}, {{"axis", std::int64_t{1}}}), 0.5f, 1));
  CHECK(lower(make).notes.empty());
  CHECK(make.nodes() ==
        "  %cat_node/input_1: int8[1, 4] = dovetail.qadd(%b, %cat_node/input_1/zero) {a_multiplier=1.0, "
        "a_zero_point=2, b_multiplier=1.0, "
        "b_zero_point=0, scale=0.5, y_max=127, y_min=-128, y_zero_point=1}  // cat_node/input_1 <- cat_node\n"
        "  %y: int8[1, 8] = Concat(%a, %cat_node/input_1) {axis=1}  // cat_node <- cat_node, y_node\n");
}

TEST_CASE("lower_qdq: averages and scaling are depthwise convolutions") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {1, 2, 4, 4}, 0.5f, -128);
  make.output(make.quantize("y", make.node("GlobalAveragePool", "mean", {x}), 0.25f, -128));
  make.output(make.quantize(
      "z",
      make.node("Mul", "mul",
                {x, make.dequantize("c_dq", make.constant("c", NdArray::scalar(std::int8_t{100})), 0.01f, 0)}),
      0.5f, 0));
  CHECK(lower(make).notes.empty());
  CHECK_THAT(make.nodes(), ContainsSubstring("%y: int8[1, 2, 1, 1] = dovetail.qconv(%x, %mean_node/weight, "
                                             "%mean_node/bias, %mean_node/scale) {dilations=[1, 1], group=2,"));
  CHECK(make.constant_of("mean_node/weight") == filled(DType::int8, {2, 1, 4, 4}, 1));
  CHECK(make.constant_of("mean_node/scale") == NdArray::from<float>({2}, {0.125f, 0.125f}));
  CHECK(make.constant_of("mul_node/weight") == filled(DType::int8, {2, 1, 1, 1}, 100));
}

TEST_CASE("lower_qdq: requantization and clipping without an operator between") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {4}, 0.5f, 4);
  make.output(make.quantize("same", make.node("Relu", "r", {x}), 0.5f, 4));
  make.output(make.quantize("other", x, 1.0f, 0));
  CHECK(lower(make).notes.empty());
  CHECK(make.nodes() ==
        "  %same: int8[4] = dovetail.qclip(%x) {y_max=127, y_min=4}  // r_node\n"
        "  %other: int8[4] = dovetail.qadd(%x, %other/zero) {a_multiplier=1.0, a_zero_point=4, "
        "b_multiplier=1.0, b_zero_point=0, scale=0.5, "
        "y_max=127, y_min=-128, y_zero_point=0}  // other_node\n");
}

TEST_CASE("lower_qdq: nodes that stay float, with the reason") {
  GraphMaker make;
  const ValueId image = make.input("image", DType::float32, {1, 2, 4, 4});
  const ValueId x = make.activation("x", image, 0.5f, 0);
  SECTION("no integer form") {
    make.output(make.quantize("y", make.node("LogSoftmax", "soft", {x}), 0.5f, 0));
    CHECK(lower(make).notes ==
          std::vector<std::string>{"soft_node (LogSoftmax) stays float: the operator has no integer form"});
  }
  SECTION("no QuantizeLinear") {
    make.output(make.node("GlobalAveragePool", "mean", {x}));
    CHECK(lower(make).notes ==
          std::vector<std::string>{"mean_node (GlobalAveragePool) stays float: no QuantizeLinear follows"});
  }
  SECTION("a divisor that varies") {
    make.output(make.quantize(
        "y", make.node("AveragePool", "mean", {x}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}), 0.5f,
        0));
    CHECK(lower(make).notes ==
          std::vector<std::string>{
              "mean_node (AveragePool) stays float: the node pads without counting the pads, so the divisor varies"});
  }
  SECTION("float activations") {
    make.output(make.node(
        "Conv", "conv",
        {image, make.dequantize("w_dq", make.constant("w", filled(DType::int8, {3, 2, 3, 3}, 1)), 0.25f, 0)}));
    CHECK(lower(make).notes ==
          std::vector<std::string>{
              "conv_node (Conv) stays float: only the constants are quantized, and the activations are float"});
  }
  SECTION("a weight that varies") {
    const ValueId square = make.activation("square", make.input("rows", DType::float32, {4, 4}), 0.5f, 0);
    make.output(make.quantize("y", make.node("Gemm", "m", {square, square}), 0.5f, 0));
    CHECK(lower(make).notes ==
          std::vector<std::string>{"m_node (Gemm) stays float: weight %square_dq is not a constant"});
  }
}

}  // namespace dovetail

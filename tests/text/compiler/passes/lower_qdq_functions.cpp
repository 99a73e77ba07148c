// The result of lower_qdq for functions of one tensor, products, choices and reductions, as text, and the nodes it
// leaves, with the reason.
#include <cmath>

#include "compiler/passes/list.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::GraphMaker;
using Ints = std::vector<std::int64_t>;

namespace {

std::vector<std::string> lowered_nodes(GraphMaker& make) {
  auto outcome = passes::lower_qdq(make.graph);
  if (!outcome) FAIL(to_string(outcome.errors()));
  return outcome->notes;
}

NdArray table_of(double (*function)(double), double sx, int zx, double sy, int zy) {
  NdArray table(DType::int8, {256});
  for (int step = -128; step <= 127; ++step)
    table.set_int64(step + 128, static_cast<std::int64_t>(std::min(
                                    127.0, std::max(-128.0, std::nearbyint(function((step - zx) * sx) / sy) + zy))));
  return table;
}

}  // namespace

TEST_CASE("lower_qdq: a unary function is a table") {
  GraphMaker make;
  make.output(
      make.quantize("y", make.node("Sigmoid", "f", {make.int8_input("x", {2, 3}, 0.0625f, 5)}), 0.00390625f, -128));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.nodes() == "  %y: int8[2, 3] = dovetail.qtable(%x, %f_node/table)  // f_node <- f_node, y_node\n");
  CHECK(make.constant_of("f_node/table") ==
        table_of([](double x) { return 1 / (1 + std::exp(-x)); }, 0.0625, 5, 0.00390625, -128));
}

TEST_CASE("lower_qdq: an expanded function with branches is one table") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {1, 2, 4}, 0.125f, -10);
  // HardSwish as exporters write it: x * min(max(x + 3, 0), 6) / 6.
  const ValueId shifted = make.node("Add", "shifted", {x, make.constant("three", NdArray::scalar(3.0f))});
  const ValueId clipped =
      make.node("Clip", "clipped",
                {shifted, make.constant("zero", NdArray::scalar(0.0f)), make.constant("six", NdArray::scalar(6.0f))});
  make.output(make.quantize(
      "y",
      make.node("Mul", "product",
                {x, make.node("Div", "gate", {clipped, make.constant("d", NdArray::from<float>({1}, {6.0f}))})}),
      0.125f, 0));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.nodes() ==
        "  %y: int8[1, 2, 4] = dovetail.qtable(%x, %shifted_node/table)  // shifted_node <- shifted_node, "
        "clipped_node, gate_node, product_node, y_node\n");
  CHECK(make.constant_of("shifted_node/table") ==
        table_of([](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }, 0.125, -10, 0.125, 0));
}

TEST_CASE("lower_qdq: consecutive tables of one tensor are one table, which keeps the roundings between them") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {8}, 0.25f, 0);
  const ValueId gate = make.activation("gate", make.node("Sigmoid", "s", {x}), 0x1p-8f, -128);
  make.output(make.quantize("y", make.node("Mul", "product", {x, gate}), 0.25f, 3));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.nodes() ==
        "  %y: int8[8] = dovetail.qtable(%x, %product_node/table)  // product_node <- s_node, gate_q_node, "
        "product_node, y_node\n");
  NdArray expected(DType::int8, {256});
  for (int step = -128; step <= 127; ++step) {
    const double gated = std::min(127.0, std::nearbyint(256 / (1 + std::exp(-step * 0.25))) - 128);
    expected.set_int64(step + 128,
                       static_cast<std::int64_t>(std::min(127.0, std::nearbyint(step * (gated + 128) / 256) + 3)));
  }
  CHECK(make.constant_of("product_node/table") == expected);
}

TEST_CASE("lower_qdq: constants per channel give a table per channel") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {1, 3, 2, 2}, 0.5f, 0);
  const ValueId slope = make.constant("slope", NdArray::from<float>({3, 1, 1}, {0.5f, 0.0f, -1.0f}));
  make.output(make.quantize("y", make.node("PRelu", "p", {x, slope}), 0.5f, 0));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.nodes() ==
        "  %y: int8[1, 3, 2, 2] = dovetail.qtable(%x, %p_node/table) {axis=1}  // p_node <- p_node, y_node\n");
  const NdArray& table = make.constant_of("p_node/table");
  REQUIRE(table.shape() == Shape{3, 256});
  const auto entry = [&](int channel, int step) { return table.as_int64(channel * 256 + step + 128); };
  for (int channel = 0; channel < 3; ++channel) CHECK(entry(channel, 100) == 100);
  CHECK(entry(0, -100) == -50);
  CHECK(entry(1, -100) == 0);
  CHECK(entry(2, -100) == 100);
  CHECK(entry(2, -128) == 127);  // saturated
}

TEST_CASE("lower_qdq: NaN becomes the zero point") {
  GraphMaker make;
  make.output(make.quantize("y", make.node("Sqrt", "root", {make.int8_input("x", {4}, 1.0f, 0)}), 0.5f, -7));
  CHECK(lowered_nodes(make).empty());
  const NdArray& table = make.constant_of("root_node/table");
  CHECK(table.as_int64(0) == -7);        // of -128
  CHECK(table.as_int64(128 + 4) == -3);  // 2 / 0.5 - 7
}

TEST_CASE("lower_qdq: a product of two tensors") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {1, 3, 4, 4}, 0.5f, 1),
                gate = make.int8_input("gate", {1, 3, 1, 1}, 0.00390625f, -128);
  make.output(make.quantize("y", make.node("Mul", "mul", {x, gate}), 0.25f, 2));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.nodes() ==
        "  %y: int8[1, 3, 4, 4] = dovetail.qmul(%x, %gate) {a_zero_point=1, b_zero_point=-128, scale=0.0078125, "
        "y_max=127, y_min=-128, y_zero_point=2}  "
        "// mul_node <- mul_node, y_node\n");
}

TEST_CASE("lower_qdq: a matrix product of two activations") {
  GraphMaker make;
  const ValueId a = make.int8_input("a", {2, 4, 8}, 0.5f, 1), b = make.int8_input("b", {2, 8, 3}, 0.25f, -2);
  make.output(make.quantize("y", make.node("MatMul", "m", {a, b}), 1.0f, 0));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.nodes() ==
        "  %y: int8[2, 4, 3] = dovetail.qmatmul(%a, %b) {a_zero_point=1, b_zero_point=-2, scale=0.125, y_max=127, "
        "y_min=-128, y_zero_point=0}  // m_node <- m_node, y_node\n");
}

TEST_CASE("lower_qdq: Max, Min and Where of unequal scales work in the output's steps") {
  GraphMaker make;
  const ValueId a = make.int8_input("a", {4}, 0.5f, 0), b = make.int8_input("b", {4}, 0.25f, 0);
  make.output(
      make.quantize("most", make.node("Max", "max", {a, b, make.constant("c", NdArray::scalar(1.25f))}), 0.5f, 0));
  const ValueId condition = make.input("condition", DType::boolean, {4});
  make.output(make.quantize(
      "chosen", make.node("Where", "where", {condition, a, make.constant("low", NdArray::scalar(-1e9f))}), 0.5f, 0));
  CHECK(lowered_nodes(make).empty());
  CHECK_THAT(
      make.nodes(),
      ContainsSubstring(
          "%most: int8[4] = Max(%a, %max_node/input_1, %max_node/input_2)  // max_node <- max_node, most_node\n") &&
          ContainsSubstring("%chosen: int8[4] = Where(%condition, %a, %where_node/input_2)  // where_node <- "
                            "where_node, chosen_node\n"));
  CHECK(make.constant_of("max_node/input_2").as_int64(0) == 2);  // 2.5 rounds to even
  CHECK(make.constant_of("where_node/input_2").as_int64(0) == -128);
}

TEST_CASE("lower_qdq: Pad with a value between steps") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {1, 2}, 0.5f, 3);
  const ValueId pads = make.constant("pads", NdArray::from<std::int64_t>({4}, {0, 1, 0, 1}));
  make.output(
      make.quantize("y", make.node("Pad", "pad", {x, pads, make.constant("v", NdArray::scalar(0.3f))}), 0.5f, 3));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.nodes() == "  %y: int8[1, 4] = Pad(%x, %pads, %pad_node/value)  // pad_node <- pad_node, y_node\n");
  CHECK(make.constant_of("pad_node/value").as_int64(0) == 4);
}

TEST_CASE("lower_qdq: Softmax and normalizations") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {2, 8}, 0.0625f, 5), scale = make.constant("g", NdArray::scalar(0.5f));
  const ValueId mask = make.constant("mask", NdArray::from<float>({4}, {0, -1e4f, -1e9f, 0}));
  const ValueId large = make.int8_input("large", {4, 3, 4}, 0.0625f, 5);
  SECTION("Softmax") {
    make.output(make.quantize("y", make.node("Softmax", "f", {x}), 0.00390625f, -128));
    CHECK(lowered_nodes(make).empty());
    CHECK(make.nodes() ==
          "  %y: int8[2, 8] = dovetail.qsoftmax(%x, %f_node/exponentials) {axis=1, scale=1.0, shift=8, y_max=127, "
          "y_min=-128, y_zero_point=-128}  // f_node <- f_node, y_node\n");
    const NdArray& table = make.constant_of("f_node/exponentials");
    CHECK(table.as_int64(0) == 65535);
    CHECK(table.as_int64(16) == 24109);  // 65535 / e
  }
  SECTION("of visible scores") {
    const ValueId sum = make.node("Add", "sum", {mask, large});
    make.output(make.quantize("y", make.node("Softmax", "f", {sum}), 0.0041f, -128));
    CHECK(lowered_nodes(make).empty());
    CHECK(make.nodes() ==
          "  %y: int8[4, 3, 4] = dovetail.qsoftmax(%large, %f_node/exponentials, %sum_node/visible) {axis=2, "
          "scale=537.3952026367188, shift=17, y_max=127, y_min=-128, y_zero_point=-128}  // sum_node <- sum_node, "
          "f_node, y_node\n");
    CHECK(make.constant_of("sum_node/visible") == NdArray::from<bool>({4}, {true, false, false, true}));
  }
  SECTION("RMSNormalization") {
    make.output(make.quantize("y", make.node("RMSNormalization", "f", {x, scale}), 0.03125f, 1));
    CHECK(lowered_nodes(make).empty());
    CHECK(make.nodes() ==
          "  %y: int8[2, 8] = dovetail.qnormalize(%x, %f_node/scale, %f_node/bias) {axis=1, bits=20, center=0, "
          "epsilon=84, parts=4096, shift=16, x_zero_point=5, y_max=127, y_min=-128, y_zero_point=1}  // f_node <- "
          "f_node, y_node\n");
  }
  SECTION("with reasons why they stay float") {
    const ValueId low = make.constant("low", NdArray::scalar(-3.0f)), rows = make.int8_input("rows", {33026}, 1, 0);
    const ValueId visible = make.input("visible", DType::boolean, {8}), real = make.input("real", DType::float32, {8});
    const auto softmax = [&](const std::string& name, ValueId scores) {
      make.output(make.quantize(name + "_q", make.node("Softmax", name, {scores}), 0.00390625f, -128));
    };
    softmax("a", make.node("Where", "choice", {visible, x, low}));
    softmax("b", make.node("Add", "sum", {x, real}));
    // A hidden row keeps the differences of its scores: the sum is not a condition.
    softmax("e", make.node("Add", "rows_sum", {x, make.constant("per_row", NdArray::from<float>({2, 1}, {0, -1e4f}))}));
    softmax(
        "f",
        make.node("Add", "all_sum",
                  {x, make.constant("all", NdArray::from<float>({2, 8}, {0, 0, 0, 0, -1e4f, 0, 0, 0, -1e4f, -1e4f,
                                                                         -1e4f, -1e4f, -1e4f, -1e4f, -1e4f, -1e4f}))}));
    make.output(make.quantize("c_q", make.node("LayerNormalization", "c", {x, real}), 0.1f, 0));
    make.output(make.quantize("d_q", make.node("LayerNormalization", "d", {rows, scale}), 0.1f, 0));
    const std::vector<std::string> notes = lowered_nodes(make);
    const auto has = [&](const std::string& note) { return std::ranges::count(notes, note) == 1; };
    CAPTURE(notes);
    CHECK(has("a_node (Softmax) stays float: mask choice_node contains -3, which does not mask a score"));
    CHECK(has("b_node (Softmax) stays float: the values of mask sum_node are not constant"));
    CHECK(has("e_node (Softmax) stays float: mask rows_sum_node hides whole rows"));
    CHECK(has("f_node (Softmax) stays float: mask all_sum_node hides whole rows"));
    CHECK(has("c_node (LayerNormalization) stays float: scale %real is not a constant"));
    CHECK(
        has("d_node (LayerNormalization) stays float: rows of 33026 elements in steps of 1, or results in steps of "
            "0.1, do not fit in int32"));
  }
}

TEST_CASE("lower_qdq: means and sums along axes are accumulations") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {1, 6, 4, 4}, 0.5f, -128), rows = make.int8_input("rows", {2, 5, 8}, 1.0f, 0);
  const auto axes = [&](const std::string& name, Ints values) {
    return make.constant(name, NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  };
  make.output(make.quantize("image", make.node("ReduceMean", "mean", {x, axes("hw", {2, 3})}), 0.25f, -128));
  make.output(make.quantize(
      "sequence", make.node("ReduceSum", "sum", {rows, axes("s", {1})}, {{"keepdims", std::int64_t{0}}}), 4.0f, 0));
  CHECK(lowered_nodes(make).empty());
  CHECK_THAT(make.nodes(), ContainsSubstring("%image: int8[1, 6, 1, 1] = dovetail.qconv(%x, %mean_node/weight, "
                                             "%mean_node/bias, %mean_node/scale) {group=6, x_zero_point=-128") &&
                               ContainsSubstring("%sum_node/in: int8[2, 1, 5, 8] = Reshape(%rows") &&
                               ContainsSubstring("%sequence: int8[2, 8] = Reshape(%sum_node/sum"));
  CHECK(make.constant_of("mean_node/scale").as_double(0) == 0.125);
  CHECK(make.constant_of("sum_node/scale").as_double(0) == 0.25);
}

TEST_CASE("lower_qdq: ArgMax reads the steps") {
  GraphMaker make;
  make.output(make.node("ArgMax", "best", {make.int8_input("x", {1, 10}, 0.5f, 0)}, {{"axis", std::int64_t{1}}}));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.nodes() == "  %best: int64[1, 1] = ArgMax(%x) {axis=1}  // best_node\n");
}

TEST_CASE("lower_qdq: weights that the graph transposes keep a scale per output") {
  GraphMaker make;
  const ValueId w = make.constant("w", NdArray::from<std::int8_t>({3, 2}, {1, 2, 3, 4, 5, 6})),
                s = make.constant("s", NdArray::from<float>({3}, {1, 2, 4}));
  const ValueId transposed =
      make.node("Transpose", "t", {make.node("DequantizeLinear", "w_dq", {w, s}, {{"axis", std::int64_t{0}}})},
                {{"perm", Ints{1, 0}}});
  make.output(
      make.quantize("y", make.node("MatMul", "m", {make.int8_input("x", {1, 2}, 1.0f, 0), transposed}), 2.0f, 0));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.constant_of("m_node/weight") == NdArray::from<std::int8_t>({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK(make.constant_of("m_node/scale") == NdArray::from<float>({3}, {0.5f, 1, 2}));
}

TEST_CASE("lower_qdq: Gemm's alpha joins the scale") {
  GraphMaker make;
  const ValueId w = make.dequantize("w_dq", make.constant("w", NdArray(DType::int8, {2, 3})), 0.5f, 0),
                c = make.constant("c", NdArray::from<float>({3}, {1, 2, 3}));
  make.output(make.quantize(
      "y", make.node("Gemm", "g", {make.int8_input("x", {1, 2}, 1.0f, 0), w, c}, {{"alpha", 2.0}}), 4.0f, 0));
  CHECK(lowered_nodes(make).empty());
  CHECK(make.constant_of("g_node/bias") == NdArray::from<std::int32_t>({3}, {1, 2, 3}));
  CHECK(make.constant_of("g_node/scale") == NdArray::from<float>({3}, {0.25f, 0.25f, 0.25f}));
}

TEST_CASE("lower_qdq: functions that stay float, with the reason") {
  GraphMaker make;
  const ValueId x = make.int8_input("x", {1, 2, 4, 4}, 0.5f, 0);
  SECTION("of a tensor that is not quantized") {
    const ValueId conv = make.node("Softmax", "soft", {x});
    make.output(make.quantize("y", make.node("Sigmoid", "s", {conv}), 0.5f, 0));
    const auto notes = lowered_nodes(make);
    REQUIRE(notes.size() == 2);
    CHECK(notes[1] ==
          "s_node (Sigmoid) stays float: the node reads %soft, the result of Softmax, which is not quantized");
  }
  SECTION("of two tensors") {
    make.output(make.quantize("y", make.node("Div", "d", {x, make.int8_input("z", {1, 2, 4, 4}, 0.25f, 0)}), 0.5f, 0));
    CHECK(lowered_nodes(make) ==
          std::vector<std::string>{"d_node (Div) stays float: the result is a function of two tensors, %x and %z"});
  }
  SECTION("with a constant for each element") {
    NdArray each(DType::float32, {4, 4});
    make.output(make.quantize("y", make.node("Div", "d", {make.constant("c", std::move(each)), x}), 0.5f, 0));
    CHECK(lowered_nodes(make) ==
          std::vector<std::string>{"d_node (Div) stays float: %c of shape [4, 4] varies along more than one axis"});
  }
  SECTION("with too many tables") {
    const ValueId wide = make.int8_input("wide", {1, 5000}, 0.5f, 0);
    make.output(make.quantize("y", make.node("PRelu", "p", {wide, make.constant("c", NdArray(DType::float32, {5000}))}),
                              0.5f, 0));
    CHECK(lowered_nodes(make) == std::vector<std::string>{"p_node (PRelu) stays float: the tables, one for each of "
                                                          "5000 slices, need 1280000 bytes, more than 1048576"});
  }
  SECTION("axes that are not neighbors") {
    const ValueId axes = make.constant("axes", NdArray::from<std::int64_t>({2}, {0, 2}));
    make.output(make.quantize("y", make.node("ReduceMean", "mean", {x, axes}), 0.5f, 0));
    CHECK(lowered_nodes(make) ==
          std::vector<std::string>{
              "mean_node (ReduceMean) stays float: it reduces 2 axes that are not adjacent; transpose first"});
  }
  SECTION("steps of 16 bits") {
    const ValueId wide =
        make.quantize("q", make.node("Relu", "r", {make.input("f", DType::float32, {4})}), 0.5f, 0, DType::int16);
    make.output(make.node("Relu", "after", {make.dequantize("dq", wide, 0.5f, 0)}));
    const auto notes = lowered_nodes(make);
    REQUIRE(notes.size() == 3);
    CHECK(
        notes[0] ==
        "r_node (Relu) stays float: the result is quantized to int16, but integer forms exist only for int8 and uint8");
    CHECK(notes[1] ==
          "q_node (QuantizeLinear) stays: the quantized values are int16, but integer forms exist only for int8 and "
          "uint8");
    CHECK(
        notes[2] ==
        "after_node (Relu) stays float: the quantized input is int16, but integer forms exist only for int8 and uint8");
  }
}

}  // namespace dovetail

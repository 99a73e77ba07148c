// The passes on float graphs, as text before and after.
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/list.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using graph::ValueId;
using test::GraphMaker;

namespace {

template <typename Pass>
passes::PassOutcome apply(GraphMaker& make, const Pass& pass) {
  auto outcome = pass(make.graph, passes::PassContext{});
  if (!outcome) FAIL(to_string(outcome.errors()));
  return *std::move(outcome);
}
passes::PassOutcome fold(GraphMaker& make, passes::FoldScope scope = passes::FoldScope::everything) {
  return apply(make, [&](graph::Graph& graph, const passes::PassContext& context) {
    return passes::fold_constants(graph, context, scope);
  });
}

NdArray row(std::vector<float> values) {
  return NdArray::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("fold_constants: nodes of constants, and shapes") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2, 3});
  const ValueId k = make.node("Mul", "k", {make.constant("a", row({1, 2, 3})), make.constant("b", row({2, 2, 2}))});
  make.output(make.node("Add", "y", {x, make.node("Neg", "n", {k})}));
  make.output(make.node("Shape", "s", {x}));
  CHECK(fold(make).changes == 3);
  CHECK(make.nodes() == "  %y: float32[2, 3] = Add(%x, %n)  // y_node\n");
  CHECK(make.constant_of("n") == row({-2, -4, -6}));
  CHECK(make.constant_of("s") == NdArray::from<std::int64_t>({2}, {2, 3}));
  CHECK(fold(make).changes == 0);
}

TEST_CASE("fold_constants: huge constants stay, with a note; a caller without an interpreter gets a note") {
  GraphMaker make;
  const ValueId shape = make.constant("shape", NdArray::from<std::int64_t>({2}, {1 << 14, 1 << 13}));
  make.output(make.node("ConstantOfShape", "y", {shape}, {{"value", row({1})}}));
  const auto outcome = fold(make);
  CHECK(outcome.changes == 0);
  CHECK(outcome.notes ==
        std::vector<std::string>{"y_node (ConstantOfShape) is constant but not folded: 512 MiB > 64 MiB"});

  GraphMaker small;
  small.output(small.node("Neg", "y", {small.constant("a", row({1}))}));
  const passes::PassContext refusing{
      [](const loops::Program&, std::span<const NdArray>) -> Result<std::vector<NdArray>> {
        return Diagnostic{"cannot evaluate", "", "not here", ""};
      }};
  CHECK_FALSE(passes::fold_constants(small.graph, refusing).ok());
}

TEST_CASE("fold_constants: quantized weights stay visible until lower_qdq has run") {
  GraphMaker make;
  make.output(make.dequantize("w_dq", make.constant("w", NdArray::from<std::int8_t>({2}, {2, 4})), 0.5f, 0));
  CHECK(fold(make, passes::FoldScope::keep_dequantized).changes == 0);
  CHECK(fold(make).changes == 1);
  CHECK(make.constant_of("w_dq") == row({1, 2}));
}

TEST_CASE("eliminate_dead_nodes") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2});
  make.node("Abs", "dead2", {make.node("Exp", "dead1", {x})});
  make.output(make.node("Neg", "y", {x}));
  CHECK(apply(make, passes::eliminate_dead_nodes).changes == 2);
  CHECK(make.nodes() == "  %y: float32[2] = Neg(%x)  // y_node\n");
  CHECK(make.graph.nodes.size() == 1);
  CHECK(apply(make, passes::eliminate_dead_nodes).changes == 0);
}

TEST_CASE("eliminate_common_subexpressions: equal constants, equal nodes; graph outputs keep their names") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2});
  const ValueId a = make.node("Add", "a", {x, make.constant("k1", row({1, 2}))}),
                b = make.node("Add", "b", {x, make.constant("k2", row({1, 2}))});
  make.output(make.node("Mul", "y", {a, b}));
  make.output(make.node("Neg", "p", {a}));
  make.output(make.node("Neg", "q", {a}));
  CHECK(apply(make, passes::eliminate_common_subexpressions).changes == 2);
  CHECK(make.nodes() ==
        "  %a: float32[2] = Add(%x, %k1)  // a_node <- a_node, b_node\n  %y: float32[2] = Mul(%a, %a)  // y_node\n"
        "  %p: float32[2] = Neg(%a)  // p_node\n  %q: float32[2] = Neg(%a)  // q_node\n");
}

TEST_CASE("eliminate_identities") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2});
  const ValueId d = make.node("Dropout", "d", {make.node("Identity", "i", {x})});
  make.output(
      make.node("Identity", "y", {make.node("Neg", "n", {make.node("Cast", "c", {d}, {{"to", std::int64_t{1}}})})}));
  make.output(make.node("Identity", "copy", {x}));
  CHECK(apply(make, passes::eliminate_identities).changes == 4);
  // A graph output keeps its name; a copy of a graph input is what was asked for.
  CHECK(make.nodes() == "  %y: float32[2] = Neg(%x)  // n_node\n  %copy: float32[2] = Identity(%x)  // copy_node\n");
}

TEST_CASE("eliminate_identities: tables that keep every step") {
  const auto changes = [](bool keeps, std::int64_t channels) {
    NdArray tables(DType::int8, channels == 1 ? Shape{256} : Shape{channels, 256});
    for (std::int64_t i = 0; i < tables.count(); ++i) tables.set_int64(i, i % 256 - 128);
    if (!keeps) tables.set_int64(tables.count() - 1, 126);
    GraphMaker make;
    const ValueId x = make.input("x", DType::int8, {1, 3});
    const graph::Attributes attributes =
        channels == 1 ? graph::Attributes{} : graph::Attributes{{"axis", std::int64_t{1}}};
    make.output(make.node("dovetail.qclip", "y",
                          {make.node("dovetail.qtable", "t", {x, make.constant("tables", tables)}, attributes)},
                          {{"y_min", std::int64_t{0}}, {"y_max", std::int64_t{127}}}));
    return apply(make, passes::eliminate_identities).changes;
  };
  for (const std::int64_t channels : {1, 3}) {
    CHECK(changes(true, channels) == 1);
    CHECK(changes(false, channels) == 0);
  }
}

TEST_CASE("fold_batch_norm: into weights and bias of the convolution in front") {
  GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 1, 2});
  const ValueId conv =
      make.node("Conv", "conv",
                {x, make.constant("w", NdArray::from<float>({2, 1, 1}, {3, 5})), make.constant("b", row({1, 1}))});
  const auto norm = [&](const std::string& name, ValueId input) {
    return make.node("BatchNormalization", name,
                     {input, make.constant(name + "_g", row({2, 4})), make.constant(name + "_beta", row({10, 20})),
                      make.constant(name + "_m", row({3, 5})), make.constant(name + "_v", row({4, 16}))},
                     {{"epsilon", 0.0}});
  };
  SECTION("folded") {
    make.output(norm("y", conv));
    CHECK(apply(make, passes::fold_batch_norm).changes == 1);
    CHECK(make.nodes() ==
          "  %y: float32[1, 2, 2] = Conv(%x, %conv_node/weight, %conv_node/bias)  // conv_node <- conv_node, y_node\n");
    CHECK(make.constant_of("conv_node/weight") == NdArray::from<float>({2, 1, 1}, {3, 5}));
    CHECK(make.constant_of("conv_node/bias") == row({8, 16}));
  }
  SECTION("not where the convolution's result is used elsewhere too") {
    make.output(norm("y", conv));
    make.output(make.node("Neg", "z", {conv}));
    CHECK(apply(make, passes::fold_batch_norm).changes == 1);
    CHECK(make.nodes().find("Conv(%x, %w, %b)") != std::string::npos);
    CHECK(make.nodes().find("= Mul(%conv, %y_node/scale)") != std::string::npos);
  }
}

TEST_CASE("fuse_matmul_add: only what Gemm means too") {
  GraphMaker make;
  const ValueId a = make.input("a", DType::float32, {2, 3}), b = make.input("b", DType::float32, {3, 4});
  SECTION("a row") {
    make.output(make.node("Add", "y", {make.constant("c", row({1, 2, 3, 4})), make.node("MatMul", "m", {a, b})}));
    CHECK(apply(make, passes::fuse_matmul_add).changes == 1);
    CHECK(make.nodes() == "  %y: float32[2, 4] = Gemm(%a, %b, %c)  // m_node <- m_node, y_node\n");
  }
  SECTION("16-bit floats, which Gemm rounds once, from level 2 on") {
    const ValueId p = make.input("p", DType::float16, {2, 3}), q = make.input("q", DType::float16, {3, 4});
    make.output(make.node("Add", "y", {make.node("MatMul", "m", {p, q}), make.input("c", DType::float16, {4})}));
    graph::Graph exact = make.graph;
    CHECK(passes::fuse_matmul_add(exact, {.level = passes::Level::exact})->changes == 0);
    CHECK(apply(make, passes::fuse_matmul_add).changes == 1);
  }
  SECTION("an Add that makes the result larger") {
    make.output(make.node("Add", "y", {make.node("MatMul", "m", {a, b}), make.input("c", DType::float32, {5, 2, 4})}));
    CHECK(apply(make, passes::fuse_matmul_add).changes == 0);
  }
}

}  // namespace dovetail

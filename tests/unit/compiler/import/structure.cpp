// Errors in model files, and the importer's diagnostics.
#include <algorithm>

#include "compiler/import/operator_versions.h"
#include "compiler/import/refused_operators.h"
#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using namespace test::onnx;

namespace {

Model relu() {
  Model model;
  model.inputs = {value_info("x", DType::float32, {1, 4})};
  model.nodes = {node("Relu", {"x"}, {"y"}, {}, "relu")};
  model.outputs = {value_info("y", DType::float32, {1, 4})};
  return model;
}

std::string structure_errors(const Model& model, const import::ImportOptions& options = {}) {
  const auto imported = model.import(options);
  return imported ? "" : to_string(imported.errors());
}

}  // namespace

TEST_CASE("import: a small model") {
  const auto imported = relu().import();
  REQUIRE(imported.ok());
  CHECK(imported->report.opset == 21);
  CHECK(imported->report.ir_version == 8);
  CHECK(imported->report.producer == "tests");
  CHECK(imported->report.operators == std::map<std::string, int>{{"Relu", 1}});
  CHECK(imported->report.notes.empty());
  CHECK(to_string(imported->graph) ==
        "graph test(%x: float32[1, 4]) -> (%y)\n  %y: float32[1, 4] = Relu(%x)  // relu\n");
}

TEST_CASE("import: an output that is listed twice is returned once") {
  Model model = relu();
  model.outputs.push_back(model.outputs[0]);
  const auto imported = model.import();
  REQUIRE(imported.ok());
  CHECK(imported->graph.outputs.size() == 1);
  CHECK(imported->report.notes == std::vector<std::string>{"output y is listed more than once; it is returned once"});
}

TEST_CASE("import: operator sets by the versions of the operators") {
  Model model = relu();
  for (std::int64_t opset : {1, 7, 21, 27}) {
    model.opset = opset;
    CHECK(structure_errors(model).empty());
  }
  for (std::int64_t opset : {-1, 0, 28}) {
    model.opset = opset;
    CHECK_THAT(structure_errors(model), ContainsSubstring("operator set"));
  }
  model.opset = 28;
  CHECK_THAT(structure_errors(model), ContainsSubstring("ONNX operator set 28 is not supported; sets 1 to 27 are"));
  model.opset = 5;
  model.nodes = {node("Tile", {"x", "tiles", "axis"}, {"y"})};
  CHECK(structure_errors(model) != "");
  model.opset = 1;
  CHECK_THAT(structure_errors(model),
             ContainsSubstring("version 1 of Tile is not supported; the model uses operator set 1"));
}

TEST_CASE("import: the versions of every ONNX operator in the table") {
  using namespace import;
  for (const ops::OpDef& def : ops::all()) {
    if (def.op.find('.') != std::string_view::npos) continue;
    INFO(def.op);
    const OperatorVersions* row = find_versions(def.op);
    REQUIRE(row != nullptr);
    CHECK(std::ranges::is_sorted(row->versions));
    CHECK(row->versions.back() <= kNewestOpset);
    CHECK(version_at(*row, kNewestOpset) == row->versions.back());
    CHECK(version_at(*row, row->versions.front()) == row->versions.front());
  }
  CHECK(std::ranges::is_sorted(operator_versions(), {}, &OperatorVersions::op));
}

TEST_CASE("import: refused operators have a reason") {
  Model model = relu();
  model.nodes = {node("Bernoulli", {"x"}, {"y"})};
  CHECK_THAT(structure_errors(model), ContainsSubstring("operator Bernoulli is not supported: its results are random"));
  for (const import::RefusedOperators& row : import::refused_operators())
    for (const std::string_view op : row.ops) CHECK(ops::find(op) == nullptr);
}

TEST_CASE("import: all unknown operators are reported at once, with their nodes") {
  Model model = relu();
  model.nodes = {node("Foo", {"x"}, {"a"}, {}, "f1"), node("Foo", {"a"}, {"b"}, {}, "f2"),
                 node("Bar", {"b"}, {"c"}, {}, "g"), node("Relu", {"c"}, {"y"})};
  model.nodes.push_back(node("Mystery", {"x"}, {"d"}, {}, "m").text(7, "com.microsoft"));
  const std::string text = structure_errors(model);
  CHECK_THAT(text, ContainsSubstring("operator Foo is not supported; 2 nodes: f1, f2"));
  CHECK_THAT(text, ContainsSubstring("operator Bar is not supported; 1 node: g"));
  CHECK_THAT(text, ContainsSubstring("operator com.microsoft.Mystery is not supported; 1 node: m"));
}

TEST_CASE("import: undefined, doubly defined and cyclic values") {
  Model model = relu();
  SECTION("undefined") {
    model.nodes = {node("Add", {"x", "ghost"}, {"y"}, {}, "add")};
    CHECK_THAT(structure_errors(model),
               ContainsSubstring("node add (Add)") && ContainsSubstring("the node uses ghost, which is not defined"));
  }
  SECTION("twice") {
    model.nodes.push_back(node("Abs", {"x"}, {"y"}, {}, "abs"));
    CHECK_THAT(structure_errors(model), ContainsSubstring("value y is defined twice"));
  }
  SECTION("cycle") {
    model.nodes = {node("Add", {"x", "b"}, {"a"}, {}, "one"), node("Neg", {"a"}, {"b"}, {}, "two"),
                   node("Relu", {"b"}, {"y"}, {}, "three")};
    CHECK_THAT(structure_errors(model), ContainsSubstring("cycle"));
  }
  SECTION("nodes in any order") {
    model.nodes = {node("Relu", {"m"}, {"y"}), node("Neg", {"x"}, {"m"})};
    CHECK(structure_errors(model).empty());
  }
  SECTION("node names repeat or are missing") {
    model.nodes = {node("Neg", {"x"}, {"a"}, {}, "n"), node("Neg", {"a"}, {"b"}, {}, "n"), node("Neg", {"b"}, {"y"})};
    const auto imported = model.import();
    REQUIRE(imported.ok());
    CHECK(imported->graph.find_node("n_2").has_value());
    CHECK(imported->graph.find_node("Neg_y").has_value());
  }
}

TEST_CASE("import: subgraphs of operators other than If, Loop and Scan are refused with the node's name") {
  Model model = relu();
  const Message subgraph = Message().text(1, "then_branch").message(6, Message().text(2, "inner")).number(20, 5);
  model.nodes = {node("Relu", {"x"}, {"y"}, {subgraph}, "branch")};
  const std::string text = structure_errors(model);
  CHECK_THAT(text, ContainsSubstring("node branch (Relu), attribute then_branch") && ContainsSubstring("subgraph"));
  CHECK_THAT(text, !ContainsSubstring("nothing defines"));
}

TEST_CASE("import: initializers that are also listed as inputs stay constants") {
  Model model = relu();
  model.ir_version = 3;
  model.inputs.push_back(value_info("w", DType::float32, {4}));
  model.initializers = {tensor("w", NdArray(DType::float32, {4}))};
  model.nodes = {node("Add", {"x", "w"}, {"y"})};
  const auto imported = model.import();
  REQUIRE(imported.ok());
  CHECK(imported->graph.inputs.size() == 1);
  CHECK(imported->graph.is_constant(imported->graph.find_value("w").value()));
}

TEST_CASE("import: Constant nodes of every numeric kind") {
  Model model = relu();
  model.nodes = {node("Constant", {}, {"a"}, {attribute("value_float", 2.0f)}),
                 node("Constant", {}, {"s"}, {attribute("value_ints", std::vector<std::int64_t>{4, 1})}),
                 node("Constant", {}, {"b"}, {attribute("value", NdArray::from<float>({2}, {1, 2}))}),
                 node("Mul", {"x", "a"}, {"m"}),
                 node("Reshape", {"m", "s"}, {"r"}),
                 node("Add", {"r", "b"}, {"y"})};
  model.outputs = {value_info("y", DType::float32, {4, 2})};
  const auto imported = model.import();
  if (!imported) FAIL(to_string(imported.errors()));
  CHECK(imported->graph.live_nodes().size() == 3);
}

TEST_CASE("import: unsupported types and shapes are refused") {
  Model model = relu();
  SECTION("string input") {
    model.inputs = {Message().text(1, "x").message(2, Message().message(1, Message().number(1, 8)))};
    CHECK_THAT(structure_errors(model), ContainsSubstring("element type string (8) is not supported"));
  }
  SECTION("sequence input") {
    model.inputs = {Message().text(1, "x").message(2, Message().message(4, Message()))};
    CHECK_THAT(structure_errors(model), ContainsSubstring("the input's type is not a tensor"));
  }
  SECTION("a shape whose product overflows") {
    model.inputs = {Message().text(1, "x").message(
        2, Message().message(
               1, Message().number(1, 1).message(2, Message()
                                                        .message(1, Message().number(1, std::int64_t{1} << 40))
                                                        .message(1, Message().number(1, std::int64_t{1} << 40)))))};
    CHECK_THAT(structure_errors(model), ContainsSubstring("has more than 16 GiB"));
  }
  SECTION("declared and inferred output type differ") {
    model.outputs = {value_info("y", DType::int64, {1, 4})};
    CHECK_THAT(structure_errors(model), ContainsSubstring("the file declares int64, but its operators return float32"));
  }
  SECTION("a stale output shape is noted") {
    model.outputs = {value_info("y", DType::float32, {7, 4})};
    const auto imported = model.import();
    REQUIRE(imported.ok());
    CHECK(imported->report.notes.size() == 1);
  }
}

TEST_CASE("import: a bad node does not hide the others, nor is its consumer blamed") {
  Model model = relu();
  model.initializers = {tensor("w", NdArray(DType::float32, {3}))};
  model.nodes = {node("Add", {"x", "w"}, {"a"}, {}, "bad1"), node("Relu", {"a"}, {"b"}, {}, "follower"),
                 node("MatMul", {"x", "w"}, {"c"}, {}, "bad2"), node("Add", {"b", "c"}, {"y"}, {}, "both")};
  const std::string text = structure_errors(model);
  CHECK_THAT(text, ContainsSubstring("bad1") && ContainsSubstring("bad2") && !ContainsSubstring("follower") &&
                       !ContainsSubstring("both"));
}

TEST_CASE("import: values needed at compile time are computed, or must be given") {
  Model model = relu();
  model.inputs = {value_info("x", DType::float32, {"N", 2, 3})};
  model.initializers = {tensor("rest", int64s({-1})), tensor("zero", NdArray::scalar(std::int64_t{0})),
                        tensor("axis", int64s({0}))};
  model.outputs = {value_info("y", DType::float32, {"N", 6})};
  SECTION("exporters' clutter: Shape, Gather, Unsqueeze, Concat") {
    model.nodes = {
        node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}), node("Unsqueeze", {"n", "axis"}, {"u"}),
        node("Concat", {"u", "rest"}, {"t"}, {attribute("axis", 0)}), node("Reshape", {"x", "t"}, {"y"}, {}, "flat")};
    const auto imported = model.import({.shapes = {{"N", {4}}}, .external_data_folder = {}});
    if (!imported) FAIL(to_string(imported.errors()));
    CHECK(imported->graph.live_nodes().size() == 1);
    CHECK(imported->graph.value(imported->graph.outputs[0]).type.shape == Shape{4, 6});
  }
  SECTION("computed from an input") {
    model.inputs.push_back(value_info("shape", DType::int64, {2}));
    model.nodes = {node("Neg", {"shape"}, {"t"}), node("Reshape", {"x", "t"}, {"y"}, {}, "flat")};
    CHECK_THAT(structure_errors(model),
               ContainsSubstring("input 1 (%t) must be known at compile time, but it depends on graph input %shape"));
  }
}

}  // namespace dovetail

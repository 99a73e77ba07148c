// A graph that is exported and imported again is the same.
#include "compiler/export/onnx.h"

#include <algorithm>

#include "compiler/export/opset.h"
#include "compiler/import/onnx.h"
#include "tests/catch.h"
#include "tests/e2e/models/sample.h"
#include "tests/text/compiler/passes/make_graph.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using graph::ValueId;

namespace {

graph::Graph round_trip(const graph::Graph& graph) {
  const auto bytes = export_onnx(graph, "test");
  if (!bytes) FAIL(to_string(bytes.errors()));
  auto imported = import::import_onnx(*bytes, "exported.onnx");
  if (!imported) FAIL(to_string(imported.errors()));
  CHECK(imported->report.opset == exported_opset(graph));
  CHECK(imported->report.producer == "dovetail");
  CHECK(imported->report.notes.empty());
  return std::move(imported->graph);
}

// Origins of nodes are not in the file: a node that is read represents itself.
std::string text_of(graph::Graph graph) {
  for (const graph::NodeId id : graph.live_nodes()) graph.edit(id)->origins = {graph.node(id).name};
  return to_string(graph);
}

// Nodes in execution order with names, operands, attributes and types (the text), and every element of the constants.
// Only the ids may differ.
void check_equal(const graph::Graph& exported, const graph::Graph& read) {
  const std::string expected = text_of(exported), actual = text_of(read);
  const auto apart =
      std::mismatch(expected.begin(), expected.end(), actual.begin(), actual.end()).first - expected.begin();
  INFO("they part at: " << expected.substr(static_cast<std::size_t>(apart), 200));
  CHECK((actual == expected));
  for (const graph::Value& value : exported.values) {
    if (!value.constant) continue;
    INFO(value.name);
    const auto found = read.find_value(value.name);
    REQUIRE(found.has_value());
    REQUIRE(read.is_constant(*found));
    CHECK(*read.value(*found).constant == *value.constant);
  }
}

}  // namespace

TEST_CASE("export: every kind of attribute, omitted operands, several outputs") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 2, 5, 6});
  const ValueId filter = make.constant("w", NdArray(DType::float32, {4, 2, 3, 3}));
  const ValueId y = make.node("Conv", "y", {x, filter},
                              {{"pads", std::vector<std::int64_t>{1, 0, 1, 2}},
                               {"group", std::int64_t{1}},
                               {"auto_pad", std::string("NOTSET")}});
  const ValueId clipped = make.node("Clip", "clipped", {y, ValueId{}, make.constant("six", NdArray::scalar(6.0f))});
  make.output(make.node("LeakyRelu", "leaky", {clipped}, {{"alpha", 0.25}}));
  graph::Node split;
  split.name = split.op = "Split", split.inputs = {clipped};
  split.attributes = {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}};
  split.origins = {"Split"};
  split.outputs = {make.graph.add_value("left", {}), make.graph.add_value("right", {})};
  const auto id = make.graph.add_node(split);
  if (auto inferred = ops::infer(make.graph, id); !inferred) FAIL(to_string(inferred.errors()));
  make.output(make.graph.node(id).outputs[1]);
  make.output(make.constant("answer", test::onnx::int64s({42})));
  make.output(make.node("ConstantOfShape", "filled", {make.constant("shape", test::onnx::int64s({2, 3}))},
                        {{"value", NdArray::from<std::int8_t>({1}, {-3})}}));
  check_equal(make.graph, round_trip(make.graph));
}

TEST_CASE("export: every element type") {
  for (const DTypeInfo& row : kDTypes) {
    INFO(row.name);
    test::GraphMaker make;
    NdArray array(row.dtype, {3});
    for (int i = 0; i < 3; ++i) array.set_int64(i, i % 2);
    make.input("x", row.dtype, {});
    make.output(make.constant("k", array));
    check_equal(make.graph, round_trip(make.graph));
  }
}

TEST_CASE("export: nodes in execution order, and only used constants") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2});
  make.constant("unused", NdArray::scalar(1.0f));
  const ValueId middle = make.graph.add_value("middle", {DType::float32, {2}}),
                y = make.graph.add_value("y", {DType::float32, {2}});
  make.graph.add_node({"second", "Neg", {middle}, {y}, {}, {"second"}, false});
  make.graph.add_node({"first", "Relu", {x}, {middle}, {}, {"first"}, false});
  make.output(y);
  const graph::Graph read = round_trip(make.graph);
  CHECK(read.nodes.front().name == "first");
  CHECK_FALSE(read.find_value("unused").has_value());
}

TEST_CASE("export: everything that ONNX cannot express is refused at once") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2});
  for (const char* name : {"a", "b"}) {
    const ValueId y = make.graph.add_value(name, {DType::float32, {2}});
    make.graph.add_node({name, "dovetail.qclip", {x}, {y}, {}, {name}, false});
    make.output(y);
  }
  const ValueId z = make.graph.add_value("z", {DType::float32, {2}});
  make.graph.add_node({"odd", "Mystery", {x}, {z}, {}, {"odd"}, false});
  const auto refused = export_onnx(make.graph, "g");
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.errors().size() == 2);
  CHECK_THAT(to_string(refused.errors()),
             ContainsSubstring("(g, node a): ONNX has no operator dovetail.qclip, which 2 nodes need"));
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("no operator Mystery, which 1 node needs"));
}

TEST_CASE("export: the models next to the repository survive export and import") {
  if (!test::fs::exists(test::models_folder())) {
    test::skip(test::models_folder().string() + " is not there");
    return;
  }
  for (const auto& entry : test::fs::directory_iterator(test::models_folder())) {
    const test::fs::path file = entry.path() / "model.onnx";
    if (!test::fs::exists(file)) continue;
    INFO(entry.path().filename().string());
    const auto imported = import::import_onnx_file(file);
    if (!imported) continue;  // tests/e2e/models tests which models can be imported
    check_equal(imported->graph, round_trip(imported->graph));
  }
}

}  // namespace dovetail

// If, Loop and Scan: the nodes that run replace the node, and give its values.
#include "compiler/reference/reference.h"
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using namespace dovetail::test::onnx;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Body {
  std::vector<Message> inputs, outputs, nodes, initializers;

  Message attribute(std::string_view name) const {
    Message graph;
    for (const Message& each : nodes) graph.message(1, each);
    graph.text(2, "body");
    for (const Message& each : initializers) graph.message(5, each);
    for (const Message& each : inputs) graph.message(11, each);
    for (const Message& each : outputs) graph.message(12, each);
    return Message().text(1, name).message(6, graph).number(20, 5);
  }
};

Message any(std::string_view name) { return Message().text(1, name); }
NdArray flag(bool value) {
  NdArray array(DType::boolean, {});
  array.set_int64(0, value ? 1 : 0);
  return array;
}
NdArray scalar(float value) { return NdArray::scalar(value); }

// The model's outputs where all inputs are `x`.
std::vector<double> results_of(const Model& model, const NdArray& x, std::size_t output = 0) {
  const auto imported = model.import();
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  const graph::Graph& graph = imported->graph;
  for (const graph::NodeId node : graph.live_nodes()) REQUIRE(graph.node(node).op != "If");
  const auto reference = Reference::make(graph);
  REQUIRE(reference.ok());
  std::map<std::string, NdArray> inputs;
  for (const graph::ValueId input : graph.inputs) inputs[graph.value(input).name] = x;
  const auto results = reference->run(inputs);
  REQUIRE((results.ok() ? "" : to_string(results.errors())) == "");
  const NdArray& array = results->at(graph.value(graph.outputs[output]).name);
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.count(); ++i) values.push_back(array.as_double(i));
  return values;
}

std::string refusal(const Model& model) {
  const auto imported = model.import();
  REQUIRE_FALSE(imported.ok());
  return to_string(imported.errors());
}

// x of two elements; y = f(x).
Model model_of_body(std::vector<Message> nodes) {
  Model model;
  model.inputs = {value_info("x", DType::float32, {2})};
  model.outputs = {any("y")};
  model.nodes = std::move(nodes);
  return model;
}
const NdArray kInput = NdArray::from<float>({2}, {3, 5});

Message branch(std::string_view attribute, std::string_view op) {
  return Body{{}, {any("r")}, {node(op, {"x"}, {"r"})}, {}}.attribute(attribute);
}

}  // namespace

TEST_CASE("import: If becomes the branch that its condition chooses, which sees outer values") {
  for (const bool condition : {true, false}) {
    Model model =
        model_of_body({node("If", {"c"}, {"y"}, {branch("then_branch", "Neg"), branch("else_branch", "Relu")})});
    model.initializers = {tensor("c", flag(condition))};
    CHECK(results_of(model, kInput) == (condition ? std::vector<double>{-3, -5} : std::vector<double>{3, 5}));
  }
  // From the shape of x: rank 1 is not 2.
  Model model =
      model_of_body({node("Shape", {"x"}, {"s"}), node("Size", {"s"}, {"n"}), node("Equal", {"n", "two"}, {"c"}),
                     node("If", {"c"}, {"y"}, {branch("then_branch", "Neg"), branch("else_branch", "Relu")})});
  model.initializers = {tensor("two", NdArray::scalar(std::int64_t{2}))};
  CHECK(results_of(model, kInput) == std::vector<double>{3, 5});
}

TEST_CASE("import: an If without the branch that its condition chooses is refused") {
  Model without = model_of_body({node("If", {"c"}, {"y"}, {branch("then_branch", "Neg")}, "choose")});
  without.initializers = {tensor("c", flag(false))};
  CHECK_THAT(refusal(without), ContainsSubstring("the node has no subgraph else_branch"));
}

TEST_CASE("import: Loop carries values, stacks others, and ends by count or condition") {
  // v = v + x; scanned: v. It continues while the iteration is below `last`.
  Body body{
      {any("i"), any("c"), any("v")},
      {any("again"), any("next"), any("seen")},
      {node("Add", {"v", "x"}, {"next"}), node("Identity", {"next"}, {"seen"}), node("Less", {"i", "last"}, {"again"})},
      {tensor("last", NdArray::scalar(std::int64_t{1}))}};
  Model model = model_of_body({node("Loop", {"m", "", "x"}, {"y", "z"}, {body.attribute("body")})});
  model.outputs.push_back(any("z"));
  model.initializers = {tensor("m", NdArray::scalar(std::int64_t{4}))};
  CHECK(results_of(model, kInput) ==
        std::vector<double>{9, 15});  // two iterations: the condition fails in the second one
  CHECK(results_of(model, kInput, 1) == std::vector<double>{6, 10, 9, 15});
  body.nodes[2] = node("Identity", {"c"}, {"again"});
  model.nodes = {node("Loop", {"m", "", "x"}, {"y", "z"}, {body.attribute("body")})};
  CHECK(results_of(model, kInput) == std::vector<double>{15, 25});
}

TEST_CASE("import: a Loop that never runs returns its initial values") {
  const Body body{{any("i"), any("c"), any("v")},
                  {any("again"), any("next"), value_info("seen", DType::float32, {2})},
                  {node("Identity", {"c"}, {"again"}), node("Neg", {"v"}, {"next"}), node("Neg", {"v"}, {"seen"})},
                  {}};
  Model model = model_of_body({node("Loop", {"m", "", "x"}, {"y", "z"}, {body.attribute("body")})});
  model.outputs.push_back(any("z"));
  model.initializers = {tensor("m", NdArray::scalar(std::int64_t{0}))};
  CHECK(results_of(model, kInput) == std::vector<double>{3, 5});
  CHECK(results_of(model, kInput, 1).empty());
}

TEST_CASE("import: Scan iterates over slices, in either direction") {
  const Body body{{any("s"), any("e")},
                  {any("next"), any("part")},
                  {node("Add", {"s", "e"}, {"next"}), node("Identity", {"next"}, {"part"})},
                  {}};
  for (const bool backwards : {false, true}) {
    Model model =
        model_of_body({node("Scan", {"zero", "x"}, {"y", "z"},
                            {body.attribute("body"), attribute("num_scan_inputs", 1),
                             attribute("scan_input_directions", std::vector<std::int64_t>{backwards ? 1 : 0})})});
    model.outputs.push_back(any("z"));
    model.initializers = {tensor("zero", scalar(0))};
    CHECK(results_of(model, kInput) == std::vector<double>{8});
    CHECK(results_of(model, kInput, 1) == (backwards ? std::vector<double>{5, 8} : std::vector<double>{3, 8}));
  }
}

TEST_CASE("import: control flow nests, and inner bodies see the values of outer ones") {
  const Body inner{{any("j"), any("d"), any("w")},
                   {any("more"), any("sum")},
                   {node("Identity", {"d"}, {"more"}), node("Add", {"w", "v"}, {"sum"})},  // v: of the outer body
                   {}};
  const Body outer{
      {any("i"), any("c"), any("v")},
      {any("again"), any("next")},
      {node("Identity", {"c"}, {"again"}), node("Loop", {"two", "", "x"}, {"next"}, {inner.attribute("body")})},
      {}};
  Model model = model_of_body({node("Loop", {"two", "", "x"}, {"y"}, {outer.attribute("body")})});
  model.initializers = {tensor("two", NdArray::scalar(std::int64_t{2}))};
  // v1 = x + 2 x, v2 = x + 2 v1.
  CHECK(results_of(model, kInput) == std::vector<double>{21, 35});
}

#include "compiler/graph/graph.h"

#include "tests/catch.h"

namespace dovetail::graph {

using Catch::Matchers::ContainsSubstring;

namespace {

// x -> Relu a -> Neg b -> y, and x -> Abs c -> y2.
struct Small {
  Graph graph;
  ValueId x, r, y, z;
  NodeId a, b, c;

  Small() {
    graph.name = "small";
    const TensorType type{DType::float32, {2}};
    x = graph.add_value("x", type), r = graph.add_value("r", type), y = graph.add_value("y", type),
    z = graph.add_value("z", type);
    b = graph.add_node({"b", "Neg", {r}, {y}, {}, {"b"}, false});
    a = graph.add_node({"a", "Relu", {x}, {r}, {}, {"a"}, false});
    c = graph.add_node({"c", "Abs", {x}, {z}, {}, {"c"}, false});
    graph.inputs = {x};
    graph.outputs = {y, z};
  }
};

std::string findings(const Graph& graph) {
  const auto verified = verify(graph);
  return verified.ok() ? "" : to_string(verified.errors());
}

}  // namespace

TEST_CASE("graph: names stay unique") {
  Small small;
  CHECK(small.graph.unique_value_name("q") == "q");
  CHECK(small.graph.unique_value_name("x") == "x_2");
  CHECK(small.graph.value(small.graph.add_value("x", {})).name == "x_2");
  CHECK(small.graph.unique_value_name("x") == "x_3");
  CHECK(small.graph.unique_node_name("a") == "a_2");
}

TEST_CASE("graph: execution order follows operands, else node order") {
  const Small small;
  CHECK(small.graph.topological_order() == std::vector<NodeId>{small.a, small.b, small.c});
}

TEST_CASE("graph: users, replacement and removal") {
  Small small;
  CHECK(small.graph.users(small.x) == std::vector<NodeId>{small.a, small.c});
  small.graph.replace_uses(small.r, small.x);
  CHECK(small.graph.users(small.x) == std::vector<NodeId>{small.b, small.a, small.c});
  small.graph.remove_node(small.a);
  CHECK_FALSE(small.graph.value(small.r).producer.valid());
  CHECK(small.graph.live_nodes() == std::vector<NodeId>{small.b, small.c});
  CHECK(findings(small.graph).empty());
  small.graph.replace_uses(small.y, small.z);
  CHECK(small.graph.outputs == std::vector<ValueId>{small.z, small.z});
}

TEST_CASE("graph: cached answers are correct after every kind of edit") {
  Small small;
  graph::Graph& g = small.graph;
  CHECK(g.users(small.x) == std::vector{small.a, small.c});
  CHECK(g.count_reads(small.x, 9) == 2);

  const graph::NodeId added = g.add_node({"added", "Add", {small.x, small.x}, {g.add_value("sum", {})}, {}, {}, false});
  CHECK(g.users(small.x) == std::vector{small.a, small.c, added});
  CHECK(g.count_reads(small.x, 9) == 4);
  CHECK(g.count_reads(small.x, 3) == 3);
  CHECK(g.find_node("added") == added);

  {
    const graph::NodeEdit edit = g.edit(added);
    edit->inputs = {small.y, small.x};
    edit->name = "other";
    CHECK(g.users(small.x) == std::vector{small.a, small.c, added});  // open edits count
    CHECK(g.find_node("other") == added);
    edit->inputs = {small.y, small.y};
  }
  CHECK(g.users(small.x) == std::vector{small.a, small.c});
  CHECK(!g.find_node("added"));
  CHECK(g.unique_node_name("other") == "other_2");

  const graph::Graph copy = g;
  g.remove_node(added);
  CHECK(g.count_reads(small.y, 9) + 2 == copy.count_reads(small.y, 9));
  CHECK(!g.find_node("other"));
  CHECK(copy.find_node("other") == added);
}

TEST_CASE("graph: outputs are found among few and many, and after replacement") {
  graph::Graph g;
  std::vector<ValueId> values;
  for (int i = 0; i < 40; ++i) values.push_back(g.add_value("v", {}));
  for (const std::size_t count : {3, 20}) {
    g.outputs = std::vector(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    CHECK(g.is_output(values[count - 1]));
    CHECK(!g.is_output(values[count]));
    g.replace_uses(values[1], values[30]);
    CHECK(!g.is_output(values[1]));
    CHECK(g.is_output(values[30]));
    g.outputs.push_back(values[31]);
    CHECK(g.is_output(values[31]));
  }
}

TEST_CASE("graph: compact drops removed nodes and renumbers the others") {
  Small small;
  small.graph.remove_node(small.b);
  small.graph.outputs = {small.z, small.r};
  small.graph.compact();
  CHECK(small.graph.nodes.size() == 2);
  CHECK(small.graph.values.size() == 3);
  CHECK(findings(small.graph).empty());
  CHECK(small.graph.find_node("c").value() == NodeId{1});
  CHECK_FALSE(small.graph.find_value("y").has_value());
}

TEST_CASE("graph: attributes of the wrong kind are an internal error") {
  Node node{"n", "Conv", {}, {}, {{"group", std::int64_t{4}}, {"epsilon", 0.5}}, {}, false};
  CHECK(int_attribute(node, "group", 1) == 4);
  CHECK(int_attribute(node, "axis", -1) == -1);
  CHECK(float_attribute(node, "epsilon", 0) == 0.5);
  CHECK_THROWS_WITH(string_attribute(node, "group", ""),
                    ContainsSubstring("attribute group of n (Conv) must have the requested kind"));
}

TEST_CASE("verify: a cycle is named") {
  Small small;
  small.graph.edit(small.a)->inputs = {small.y};
  CHECK_THAT(findings(small.graph), ContainsSubstring("cycle: b -> a -> b") || ContainsSubstring("cycle: a -> b -> a"));
}

TEST_CASE("verify: ids, producers, duplicates, undefined values") {
  Small small;
  SECTION("well formed") { CHECK(findings(small.graph).empty()); }
  SECTION("id out of range") {
    small.graph.edit(small.a)->inputs = {ValueId{99}};
    CHECK_THAT(findings(small.graph), ContainsSubstring("value id 99 is out of range: the graph has 4 values"));
  }
  SECTION("undefined value") {
    small.graph.inputs.clear();
    CHECK_THAT(findings(small.graph), ContainsSubstring("%x is used, but not defined"));
  }
  SECTION("two definitions") {
    small.graph.edit(small.a)->outputs = {small.r, small.z};
    CHECK_THAT(findings(small.graph), ContainsSubstring("defined 2 times"));
  }
  SECTION("two values of one name, reported once") {
    small.graph.value(small.r).name = "x";
    CHECK_THAT(findings(small.graph), ContainsSubstring("2 values have this name"));
  }
  SECTION("a constant of another type") {
    small.graph.value(small.graph.add_constant("k", NdArray::scalar(1.0f))).type = {DType::int8, {}};
    CHECK_THAT(findings(small.graph), ContainsSubstring("the type is int8[], but the constant is float32[]"));
  }
  SECTION("an input that a node produces") {
    small.graph.inputs = {small.x, small.r};
    CHECK_THAT(findings(small.graph), ContainsSubstring("the graph input has a producer"));
  }
}

}  // namespace dovetail::graph

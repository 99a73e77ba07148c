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

TEST_CASE("graph: compact drops the removed and renumbers the rest") {
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

TEST_CASE("graph: attributes of the wrong kind are our own mistake") {
  Node node{"n", "Conv", {}, {}, {{"group", std::int64_t{4}}, {"epsilon", 0.5}}, {}, false};
  CHECK(int_attribute(node, "group", 1) == 4);
  CHECK(int_attribute(node, "axis", -1) == -1);
  CHECK(float_attribute(node, "epsilon", 0) == 0.5);
  CHECK_THROWS_WITH(string_attribute(node, "group", ""),
                    ContainsSubstring("attribute group of n (Conv) has another kind"));
}

TEST_CASE("verify: names a cycle") {
  Small small;
  small.graph.node(small.a).inputs = {small.y};
  CHECK_THAT(findings(small.graph), ContainsSubstring("cycle b -> a -> b") || ContainsSubstring("cycle a -> b -> a"));
}

TEST_CASE("verify: ids, producers, duplicates, undefined values") {
  Small small;
  SECTION("well formed") { CHECK(findings(small.graph).empty()); }
  SECTION("id out of range") {
    small.graph.node(small.a).inputs = {ValueId{99}};
    CHECK_THAT(findings(small.graph), ContainsSubstring("value id 99 of 4 values"));
  }
  SECTION("undefined value") {
    small.graph.inputs.clear();
    CHECK_THAT(findings(small.graph), ContainsSubstring("uses %x, which nothing defines"));
  }
  SECTION("two definitions") {
    small.graph.nodes.push_back({"d", "Exp", {small.x}, {small.z}, {}, {}, false});
    CHECK_THAT(findings(small.graph), ContainsSubstring("defined 2 times"));
  }
  SECTION("two of one name, reported once") {
    small.graph.value(small.r).name = "x";
    CHECK_THAT(findings(small.graph), ContainsSubstring("2 values have this name"));
  }
  SECTION("a constant of another type") {
    small.graph.value(small.graph.add_constant("k", NdArray::scalar(1.0f))).type = {DType::int8, {}};
    CHECK_THAT(findings(small.graph), ContainsSubstring("type int8[], but the constant is float32[]"));
  }
  SECTION("an input that a node produces") {
    small.graph.inputs = {small.x, small.r};
    CHECK_THAT(findings(small.graph), ContainsSubstring("a graph input that has a producer"));
  }
}

}  // namespace dovetail::graph

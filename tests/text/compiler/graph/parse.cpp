// Parsing the text of graphs: the same text, the same values; and invalid text, with its place.
#include "compiler/graph/parse.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"

namespace dovetail::graph {

using Catch::Matchers::ContainsSubstring;

namespace {

Graph read(const std::string& text, const MissingElements& missing = {}) {
  auto graph = parse(text, "text", missing);
  if (!graph) FAIL(to_string(graph.errors()));
  return *std::move(graph);
}
std::string refused(const std::string& text) {
  const auto graph = parse(text, "text");
  REQUIRE_FALSE(graph.ok());
  return to_string(graph.errors());
}

const std::string kDemo = R"(graph demo(%x: float32[1, 3, 8, 8], %"a b": int8[]) -> (%a, %b, %x)
  constant %w: float32[4, 3, 3, 3] = fill(0.5)
  constant %axes: int64[2] = [2, 3]
  constant %half: float32[] = 0.1
  constant %odd: float32[5] = [inf, -inf, nan, -0.0, 1e-40]
  constant %many: int8[3, 3] = [1, 2, 3, 4, 5, 6, 7, 8, -9]
  constant %flags: bool[2] = [1, 0]
  %y:0: float32[1, 4, 6, 6] = Conv(%x, %w) {alpha=2.0, auto_pad="VA\"L\\I\nD", none=[], reals=float[], strides=[1, 1], texts=string[], words=["p", "q"]}  // conv1
  %a: float32[1, 4, 6], %b: int64[] = dovetail.odd(%y:0, _, %axes, %half, %odd, %many, %flags, %"a b") {t=(int64[] = 7), v=[0.5, 2.0]}  // "odd one" <- p, "q <- r"
)";

}  // namespace

TEST_CASE("a graph's text reads back as the same text") {
  const Graph graph = read(kDemo);
  CHECK(to_string(graph, Elements::all) == kDemo);
  CHECK(to_string(read(to_string(graph, Elements::all)), Elements::all) == kDemo);
  const NdArray& odd = *graph.value(*graph.find_value("odd")).constant;
  CHECK(std::isnan(odd.as_double(2)));
  CHECK(std::signbit(odd.as_double(3)));
  CHECK(odd.as_double(4) == static_cast<double>(1e-40F));
  const Node& node = graph.node(*graph.find_node("odd one"));
  CHECK(node.origins == std::vector<std::string>{"p", "q <- r"});
  CHECK_FALSE(node.inputs[1].valid());
  CHECK(std::get<std::string>(graph.node(*graph.find_node("conv1")).attributes.at("auto_pad")) == "VA\"L\\I\nD");
}

TEST_CASE("every number of every type survives the text") {
  for (const DTypeInfo& row : kDTypes) {
    INFO(row.name);
    Graph graph;
    graph.name = "g";
    NdArray array(row.dtype, {11});
    for (std::int64_t i = 0; i < 10; ++i)
      array.set_double(i, is_floating(row.dtype) ? (i % 2 ? -1.0 : 1.0) / (3.0 + static_cast<double>(i))
                                                 : static_cast<double>(i * 7 - 20));
    graph.outputs = {graph.add_constant("c", array)};
    const Graph again = read(to_string(graph, Elements::all));
    CHECK(*again.value(again.outputs[0]).constant == array);
  }
}

TEST_CASE("constants without elements are supplied by the caller, or an error") {
  const std::string text = "graph g() -> (%c)\n  constant %c: float32[3, 4]\n";
  const Graph graph =
      read(text, [](std::string_view, const TensorType& type) { return NdArray(type.dtype, type.shape); });
  CHECK(to_string(graph) == text);
  CHECK_THAT(refused(text), ContainsSubstring("%c has no elements"));
}

TEST_CASE("nodes need no name and no order") {
  const Graph graph = read(
      "# said in a comment\ngraph g(%x: float32[2]) -> (%y)\n  %y: float32[2] = Neg(%z)\n  %z: float32[2] = Abs(%x)\n");
  CHECK(
      to_string(graph) ==
      "graph g(%x: float32[2]) -> (%y)\n  %z: float32[2] = Abs(%x)  // Abs_z\n  %y: float32[2] = Neg(%z)  // Neg_y\n");
}

TEST_CASE("a node's subgraphs follow it") {
  const std::string text = R"(graph g(%c: bool[], %x: float32[2]) -> (%y, %n) extents %y[0]=%n
  constant %n: int64[1] = [1]
  %y: float32[2] = dovetail.if(%c, %x)  // choice
    graph then(%x: float32[2]) -> (%z)
      %z: float32[2] = dovetail.if(%d, %x)  // inner
        graph then(%x: float32[2]) -> (%r)
          %r: float32[2] = Neg(%x)  // n
        end
        graph else() -> (%w)
          constant %w: float32[2] = [1.0, 2.0]
        end
      constant %d: bool[] = 1
    end
    graph else() -> (%w)
      constant %w: float32[2] = [3.0, 4.0]
    end
)";
  const Graph graph = read(text);
  const Node& node = graph.nodes.front();
  REQUIRE(node.subgraphs.size() == 2);
  CHECK(node.subgraphs[0]->nodes.front().subgraphs.size() == 2);
  CHECK(graph.extents == std::vector<OutputExtent>{{"y", 0, "n"}});
  const std::string printed = to_string(graph);
  CHECK(to_string(read(printed)) == printed);
  CHECK_THAT(printed, ContainsSubstring("\n        graph else() -> (%w)\n"));
}

TEST_CASE("invalid subgraphs are refused, with their place") {
  const std::string head = "graph g(%x: float32[2]) -> (%y)\n", node = "  %y: float32[2] = dovetail.if(%x)  // n\n";
  CHECK_THAT(refused(head + "  graph h() -> ()\n  end\n" + node),
             ContainsSubstring("text:2:") && ContainsSubstring("belongs to the preceding node"));
  CHECK_THAT(refused(head + node + "  graph h() -> ()\n"), ContainsSubstring("subgraph h has no line \"end\""));
  CHECK_THAT(refused(head + node + "  graph h() -> (%z)\n  end\n"), ContainsSubstring("%z is used, but not defined"));
  CHECK_THAT(refused(head + node + "  end\n"), ContainsSubstring("text:3:"));
  CHECK_THAT(refused(head + node + "  graph h(%z: float33[2]) -> ()\n  end\n"),
             ContainsSubstring("text:3:") && ContainsSubstring("is not an element type"));
  CHECK_THAT(refused("graph g(%x: float32[2]) -> (%x) extents %x[1]=%x\n"),
             ContainsSubstring("a run-time extent is along axis 1, but the rank is 1") &&
                 ContainsSubstring("expected int64[1]"));
  std::string deep = head + node;
  for (int i = 0; i <= kMostNested; ++i) deep += "graph h() -> (%y)\n%y: float32[2] = Neg(%y)  // n\n";
  CHECK_THAT(refused(deep), ContainsSubstring("graphs are nested more than 8 deep"));
}

TEST_CASE("invalid text is refused, with its place") {
  CHECK_THAT(refused(""), ContainsSubstring("there is no line \"graph"));
  CHECK_THAT(refused("graph g(%x: float33[2]) -> ()\n"),
             ContainsSubstring("text:1:") && ContainsSubstring("\"float33\" is not an element type"));
  CHECK_THAT(refused("graph g(%x: float32[2]) -> (%y)\n"), ContainsSubstring("%y is used, but not defined"));
  CHECK_THAT(refused("graph g(%x: float32[2]) -> (%y)\n  %y: float32[2] = Neg(%x\n"),
             ContainsSubstring("text:2:") && ContainsSubstring("expected \",\""));
  CHECK_THAT(refused("graph g(%x: float32[2]) -> (%x)\n  constant %x: int8[1] = [1]\n"),
             ContainsSubstring("%x is defined twice"));
  CHECK_THAT(refused("graph g(%x: float32[2]) -> (%x)\n  constant %c: int8[2] = [1, 2, 3]\n"),
             ContainsSubstring("3 elements are given, but int8[2] has 2"));
  CHECK_THAT(refused("graph g(%x: float32[2]) -> (%x)\n  constant %c: int8[1] = [1.5]\n"),
             ContainsSubstring("\"1.5\" is not a 64-bit integer"));
  CHECK_THAT(refused("graph g(%x: float32[2]) -> (%y)\n  %y: float32[2] = Neg(%x) {a=1, a=2}\n"),
             ContainsSubstring("attribute a occurs twice"));
  CHECK_THAT(refused("graph g(%x: float32[2]) -> (%y)\n  %y: float32[2] = Neg(%x) // n extra\n"),
             ContainsSubstring("after the end"));
  CHECK_THAT(refused("graph g() -> (%y)\n  %y: float32[2] = Neg(%y)  // n\n"), ContainsSubstring("cycle"));
  CHECK_THAT(refused("graph g(%x: float32[99999999999, 99999999999]) -> (%x)\n"),
             ContainsSubstring("too many elements"));
  CHECK_THAT(refused("graph g() -> (%c)\n  constant %c: int8[999999999] = fill(1)\n"),
             ContainsSubstring("but may have at most"));
}

}  // namespace dovetail::graph

#include "compiler/graph/graph.h"
#include "tests/catch.h"

namespace dovetail::graph {

TEST_CASE("a graph prints one line per constant and node") {
  Graph graph;
  graph.name = "demo";
  const ValueId x = graph.add_value("x", {DType::float32, {1, 3, 8, 8}});
  const ValueId w = graph.add_constant("w", NdArray(DType::float32, {4, 3, 3, 3}));
  const ValueId axes = graph.add_constant("axes", NdArray::from<std::int64_t>({2}, {2, 3}));
  const ValueId half = graph.add_constant("half", NdArray::scalar(0.1f));
  const ValueId y = graph.add_value("y", {DType::float32, {1, 4, 6, 6}});
  const ValueId a = graph.add_value("a", {DType::float32, {1, 4, 6}}), b = graph.add_value("b", {DType::int64, {}});
  graph.add_node({"conv1",
                  "Conv",
                  {x, w},
                  {y},
                  {{"strides", std::vector<std::int64_t>{1, 1}}, {"auto_pad", std::string("VALID")}, {"alpha", 2.0}},
                  {"conv1"},
                  false});
  graph.add_node(
      {"odd", "Odd", {y, ValueId{}, axes, half}, {a, b}, {{"t", NdArray::scalar(std::int64_t{7})}}, {"p", "q"}, false});
  graph.inputs = {x};
  graph.outputs = {a, b};
  CHECK(to_string(graph) == R"(graph demo(%x: float32[1, 3, 8, 8]) -> (%a, %b)
  constant %w: float32[4, 3, 3, 3]
  constant %axes: int64[2] = [2, 3]
  constant %half: float32[] = 0.1
  %y: float32[1, 4, 6, 6] = Conv(%x, %w) {alpha=2.0, auto_pad="VALID", strides=[1, 1]}  // conv1
  %a: float32[1, 4, 6], %b: int64[] = Odd(%y, _, %axes, %half) {t=(int64[] = 7)}  // odd <- p, q
)");
}

}  // namespace dovetail::graph

// Removes the quantization from a graph.
#include "compiler/quantize/strip_qdq.h"

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::quantize {
namespace {

using graph::ValueId;

// x, quantized and dequantized, times a dequantized weight; the product quantized and dequantized again.
test::GraphMaker quantized_graph() {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {2, 2});
  const ValueId weight =
      make.dequantize("w_dq", make.constant("w", NdArray::from<std::int8_t>({2, 2}, {1, 2, 3, 4})), 0.5F, 0);
  const ValueId product = make.node("MatMul", "product", {make.activation("x", x, 0.5F, 0), weight});
  make.output(make.node("Relu", "relu", {make.activation("y", product, 0.25F, 3)}));
  return make;
}

std::vector<std::string> operators(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::NodeId id : graph.topological_order()) names.push_back(graph.node(id).op);
  return names;
}

}  // namespace

TEST_CASE("strip: pairs around activations are removed, dequantized weights stay") {
  graph::Graph graph = quantized_graph().graph;
  CHECK(strip_qdq(graph) == 2);
  CHECK(operators(graph) == std::vector<std::string>{"DequantizeLinear", "MatMul", "Relu"});
  CHECK(graph::verify(graph).ok());
  CHECK(strip_qdq(graph) == 0);
}

TEST_CASE("strip: quantized values with other readers stay") {
  test::GraphMaker make = quantized_graph();
  const auto steps = make.graph.find_value("x_q");
  REQUIRE(steps.has_value());
  make.output(*steps);
  CHECK(strip_qdq(make.graph) == 2);
  CHECK(operators(make.graph).size() == 4);
  CHECK(graph::verify(make.graph).ok());
}

}  // namespace dovetail::quantize

#include "compiler/passes/list.h"

#include "tests/text/compiler/passes/rewrite_case.h"

namespace dovetail {

using test::RewriteCase;

namespace {

const graph::Value& weights_of(const RewriteCase& rewritten, std::size_t node) {
  const graph::Graph& graph = rewritten.graph();
  return graph.value(graph.node(graph.topological_order()[node]).inputs[1]);
}

}  // namespace

TEST_CASE("drop_tiny_weights: tiny weights next to usual ones become zero") {
  RewriteCase rewritten(R"(graph g(%x: float32[2, 4]) -> (%y, %z)
  constant %w: float32[4, 1] = [0.5, 1e-25, -1e-45, 1e-24]
  %y: float32[2, 1] = MatMul(%x, %w)
  %z: float32[2, 1] = Gemm(%x, %w)
)");
  rewritten.apply(passes::drop_tiny_weights).nodes();
  CHECK(rewritten.changes() == 2);
  for (const std::size_t node : {0, 1}) {
    const auto weights = weights_of(rewritten, node).constant->data<float>();
    CHECK(std::vector(weights.begin(), weights.end()) == std::vector{0.5F, 0.0F, 0.0F, 1e-24F});
  }
}

TEST_CASE("drop_tiny_weights: a matrix of tiny weights, another operand and other operators stay") {
  for (const char* text : {R"(graph g(%x: float32[2, 4]) -> (%y)
  constant %w: float32[4, 1] = [1e-5, 1e-39, -1e-45, 0]
  %y: float32[2, 1] = MatMul(%x, %w)
)",
                           R"(graph g(%x: float32[2, 4]) -> (%y)
  constant %w: float32[4] = [0.5, 1e-39, -1e-45, 0]
  %y: float32[2, 4] = Mul(%x, %w)
)",
                           R"(graph g(%x: float64[2, 4]) -> (%y)
  constant %w: float64[4, 1] = [0.5, 1e-39, -1e-45, 0]
  %y: float64[2, 1] = MatMul(%x, %w)
)"}) {
    RewriteCase rewritten(text);
    rewritten.apply(passes::drop_tiny_weights).nodes();
    CHECK(rewritten.changes() == 0);
  }
}

}  // namespace dovetail

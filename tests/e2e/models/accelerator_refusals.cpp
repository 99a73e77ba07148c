// The report's reasons for integer nodes that the accelerator does not take.
#include "compiler/pipeline.h"
#include "tests/targets.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {
namespace {

std::string why(const graph::Graph& graph, const std::string& node) {
  CompileOptions options;
  options.available = test::kit_targets({}, "interpreter");
  options.targets = {"accel"};
  options.stop_after = "partition";
  const auto compiled = compile({graph, {}}, options);
  if (!compiled) FAIL(to_string(compiled.errors()));
  for (const NodePlacement& row : compiled->placement)
    if (row.node == node) return row.target + ": " + row.why;
  return "";
}

}  // namespace

TEST_CASE("accelerator: tables, and products whose matrices share blocks, run on the host, and the report says why") {
  test::GraphMaker make;
  const graph::ValueId x = make.dequantize("x_dq", make.input("x", DType::int8, {2, 4, 4}), 0.5f, 0);
  make.output(make.quantize("t", make.node("Tanh", "f", {x}), 0.01f, 0));
  make.output(make.quantize("m", make.node("MatMul", "p", {x, x}), 2.0f, 0));
  CHECK(
      why(make.graph, "f_node") ==
      "host: its table is not two lines through one point, and the accelerator has no memory for tables (`table=true` "
      "adds it)");
  CHECK(why(make.graph, "p_node") == "host: its 2 matrices are not at borders of blocks of 16");
}

}  // namespace dovetail

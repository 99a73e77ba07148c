// The facts of the compile report: every imported node with its fate, its reasons and its cost.
#include "compiler/report.h"

#include "compiler/pipeline.h"
#include "tests/catch.h"
#include "tests/targets.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using graph::ValueId;

namespace {

NdArray row(std::vector<float> values) {
  return NdArray::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

// x -> Conv -> BatchNormalization -> Relu -> Add of a constant that Mul computes -> Neg twice, the same -> Sub ->
// Identity; Abs of x for nobody
graph::Graph sample() {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::float32, {1, 2, 4, 4});
  const ValueId conv = make.node("Conv", "conv", {x, make.constant("w", NdArray(DType::float32, {3, 2, 1, 1}))});
  const ValueId norm = make.node("BatchNormalization", "norm",
                                 {conv, make.constant("scale", row({1, 2, 3})), make.constant("shift", row({0, 0, 1})),
                                  make.constant("mean", row({0, 1, 0})), make.constant("variance", row({1, 1, 2}))});
  const ValueId relu = make.node("Relu", "relu", {norm});
  const ValueId product = make.node("Mul", "product", {make.constant("a", row({2})), make.constant("b", row({3}))});
  const ValueId sum = make.node("Add", "sum", {relu, product});
  const ValueId matrix = make.node("Softmax", "soft", {sum}, {{"axis", std::int64_t{1}}});
  const ValueId first = make.node("Neg", "first", {matrix}), second = make.node("Neg", "second", {matrix});
  make.output(make.node("Identity", "same", {make.node("Sub", "y", {first, make.node("Exp", "e", {second})})}));
  make.node("Abs", "unused", {x});
  return std::move(make.graph);
}

Compiled compiled_for(std::vector<std::string> targets, std::map<std::string, std::string> place = {}) {
  CompileOptions options;
  options.available = test::kit_targets({}, "baseline");
  options.targets = std::move(targets);
  options.place = std::move(place);
  auto compiled = compile({sample(), {}}, options);
  if (!compiled) FAIL(to_string(compiled.errors()));
  return *std::move(compiled);
}

const NodePlacement& find(const Compiled& compiled, const std::string& node) {
  for (const NodePlacement& row : compiled.placement)
    if (row.node == node + "_node") return row;
  FAIL("no row " + node);
  return compiled.placement.front();
}

}  // namespace

TEST_CASE("report: eliminated nodes state into what, why, and by which pass") {
  const Compiled compiled = compiled_for({"accel", "cpu"});
  REQUIRE(compiled.placement.size() == compiled.imported.live_nodes().size());
  const auto folded = [&](const std::string& node) {
    const NodePlacement& row = find(compiled, node);
    CHECK(row.target == "folded");
    CHECK_FALSE(row.cost.has_value());
    return row.why + " | " + row.into + " | " + row.pass;
  };
  CHECK(folded("norm") == "into conv_node | conv_node | fold_batch_norm");
  CHECK(folded("product") == "its value is constant |  | fold_constants");
  CHECK(folded("second") == "into first_node | first_node | eliminate_common_subexpressions");
  CHECK(folded("same") == "it changes nothing |  | eliminate_identities");
  CHECK(folded("unused") == "nothing reads it |  | eliminate_dead_nodes");
}

TEST_CASE("report: nodes with code state where, as what, with which nodes, at what cost, and why not elsewhere") {
  const Compiled compiled = compiled_for({"accel", "cpu"});
  const NodePlacement& conv = find(compiled, "conv");
  CHECK(conv.target == "cpu");
  CHECK(conv.row == "operator");
  CHECK(conv.region == "region0");
  CHECK(conv.kernel == std::vector<std::string>{"conv_node", "relu_node", "sum_node"});
  CHECK(find(compiled, "relu").kernel == conv.kernel);
  REQUIRE(conv.refused.size() == 1);
  CHECK(conv.refused[0].target == "accel");
  CHECK(conv.why == "Conv computes in floating point, and the accelerator in int8");
  REQUIRE(conv.cost.has_value());
  // 3 x 16 results of 2 products each, and the bias that the normalization left.
  CHECK(conv.cost->operations >= 2 * 2 * 3 * 16);
  CHECK(conv.cost->operations <= 2 * 2 * 3 * 16 + 3 * 16);
  CHECK(conv.cost->macs == 2 * 3 * 16);
  CHECK(compiled.summary.macs.at("cpu") == 2 * 3 * 16);
  CHECK(conv.cost->bytes == 4 * (2 * 16 + 3 * 2 + 3 + 3 * 16));
  CHECK(conv.cost->seconds > 0);
  CHECK(conv.cost->cycles == 0);

  const Json json = to_json(conv);
  CHECK(json["refused"][0]["target"] == "accel");
  CHECK(json["kernel"].size() == 3);
  CHECK(json["cost"]["operations"] == conv.cost->operations);
  CHECK(json["cost"]["macs"] == conv.cost->macs);
  CHECK(to_json(find(compiled, "product"))["into"].is_null());
}

TEST_CASE("report: a node that became several is listed by the one with its products, at the cost of all") {
  test::GraphMaker make;
  const ValueId x = make.input("x", DType::uint8, {4, 8}), zero = make.input("zero", DType::uint8, {});
  NdArray weights(DType::int8, {8, 16});
  for (std::int64_t i = 0; i < weights.count(); ++i) weights.set_int64(i, i - 50);
  make.output(make.node("MatMulInteger", "y", {x, make.constant("w", std::move(weights)), zero}));
  CompileOptions options;
  options.available = test::kit_targets({}, "baseline");
  options.targets = {"accel", "cpu"};
  const auto compiled = compile({std::move(make.graph), {}}, options);
  if (!compiled) FAIL(to_string(compiled.errors()));
  REQUIRE(compiled->optimized.live_nodes().size() > 1);
  REQUIRE(compiled->placement.size() == 1);
  const NodePlacement& row = compiled->placement.front();
  REQUIRE(row.cost);
  CHECK(row.cost->macs == 4 * 8 * 16);
  CHECK(row.cost->operations > 2 * 4 * 8 * 16);
  CHECK(row.target == "cpu");
  CHECK(compiled->summary.macs.at("cpu") == 4 * 8 * 16);
  CHECK(row.why.find("quantized as they come") != std::string::npos);
}

TEST_CASE("report: JSON of nodes and regions can be read back") {
  const Compiled compiled = compiled_for({"host", "cpu"}, {{"relu_node", "cpu"}});
  for (const NodePlacement& row : compiled.placement) CHECK(to_json(placement_from_json(to_json(row))) == to_json(row));
  CHECK(to_json(summary_from_json(to_json(compiled.summary))) == to_json(compiled.summary));
  CHECK(placement_from_json(to_json(find(compiled, "product"))).into.empty());
}

TEST_CASE("report: regions, and the bytes that move between targets") {
  // The float nodes are on the interpreter except two: x -> [host] -> conv, relu -> [cpu] ... and back.
  const Compiled compiled = compiled_for({"host", "cpu"}, {{"relu_node", "cpu"}});
  const PlacementSummary& summary = compiled.summary;
  REQUIRE(summary.regions.size() == 3);
  CHECK(summary.regions[1].target == "cpu");
  CHECK(summary.regions[1].operations == 1);
  CHECK(summary.regions[1].read_bytes == 4 * 3 * 16);
  CHECK_FALSE(summary.regions[1].elsewhere.has_value());  // placed by hand
  CHECK(summary.regions[0].elsewhere.has_value());
  CHECK(summary.moved_tensors == 2);
  CHECK(summary.moved_bytes == 2 * 4 * 3 * 16);
  CHECK(summary.input_bytes == 4 * 2 * 16);
  CHECK(summary.output_bytes == 4 * 3 * 16);
  int nodes = 0;
  for (const auto& [target, count] : summary.nodes) nodes += count;
  CHECK(nodes == static_cast<int>(compiled.placement.size()));
  CHECK(compiled.report["summary"]["regions"].size() == 3);
  CHECK(compiled.report["nodes"].size() == compiled.placement.size());
}

}  // namespace dovetail

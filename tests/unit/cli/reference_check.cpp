#include "cli/reference_check.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;
using Catch::Matchers::ContainsSubstring;

namespace {

// x -> Relu -> middle -> Neg -> y
graph::Graph chain() {
  graph::Graph graph;
  const graph::TensorType type{DType::float32, {2, 2}};
  const auto x = graph.add_value("x", type), middle = graph.add_value("middle", type), y = graph.add_value("y", type);
  graph.inputs = {x};
  graph.outputs = {y};
  graph.add_node({"relu_7", "Relu", {x}, {middle}, {}, {"relu_7", "clip_8"}});
  graph.add_node({"neg_9", "Neg", {middle}, {y}, {}, {}});
  return graph;
}
const std::map<std::string, NdArray> kInputs{{"x", NdArray::from<float>({2, 2}, {1, -2, 3, -4})}};

runtime::RunResult right() {
  runtime::RunResult run;
  run.tensors["middle"] = NdArray::from<float>({2, 2}, {1, 0, 3, 0});
  run.outputs["y"] = NdArray::from<float>({2, 2}, {-1, -0.0F, -3, -0.0F});
  return run;
}

}  // namespace

TEST_CASE("a right run: all tensors compared, none differs") {
  const auto check = check_against_reference(chain(), kInputs, right());
  REQUIRE((check.ok() ? "" : to_string(check.errors())) == "");
  CHECK(check->compared == 2);
  CHECK(check->elements == 8);
  CHECK(check->different == 0);
  CHECK(check->first.empty());
}

TEST_CASE("the first difference in execution order is named, with node, element and both values") {
  runtime::RunResult run = right();
  run.tensors["middle"] = NdArray::from<float>({2, 2}, {1, 0, 3.5F, 1});
  run.outputs["y"] = NdArray::from<float>({2, 2}, {0, 0, 0, 0});
  const auto check = check_against_reference(chain(), kInputs, run);
  REQUIRE(check.ok());
  CHECK(check->different == 2);
  REQUIRE(check->first.size() == 1);
  CHECK_THAT(to_string(check->first), ContainsSubstring("tensor middle, node relu_7 (Relu) for relu_7, clip_8") &&
                                          ContainsSubstring("2 of 4 elements; first at [1, 0]: 3.5, expected 3"));
}

TEST_CASE("a sign of zero and a type are differences") {
  runtime::RunResult run = right();
  run.outputs["y"] = NdArray::from<float>({2, 2}, {-1, 0, -3, 0});
  CHECK(check_against_reference(chain(), kInputs, run)->different == 1);
  run.outputs["y"] = NdArray(DType::float32, {4});
  CHECK_THAT(to_string(check_against_reference(chain(), kInputs, run)->first),
             ContainsSubstring("it is float32[4], expected float32[2, 2]"));
}

TEST_CASE("an output that the reference does not know is an error, not an agreement") {
  runtime::RunResult run = right();
  run.outputs["z"] = run.outputs["y"];
  CHECK_FALSE(check_against_reference(chain(), kInputs, run).ok());
}

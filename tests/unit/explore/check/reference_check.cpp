#include "explore/check/reference_check.h"

#include <cmath>

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::explore;
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

TEST_CASE("a correct run: all tensors are compared, none differs") {
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

TEST_CASE("an output that the reference does not have is an error, not an agreement") {
  runtime::RunResult run = right();
  run.outputs["z"] = run.outputs["y"];
  CHECK_FALSE(check_against_reference(chain(), kInputs, run).ok());
}

TEST_CASE(
    "reference check: integers of floats may differ by one step where floats may differ, and so may their consumers") {
  const Shape shape{200};
  // x -> Relu -> Cast -> q, a byte -> Neg -> y; or q from x directly.
  const auto check = [&](const std::vector<std::int64_t>& steps, std::int64_t of_y, double tolerance,
                         bool computed = true) {
    graph::Graph graph;
    const auto x = graph.add_value("x", {DType::float32, shape}), q = graph.add_value("q", {DType::int8, shape}),
               y = graph.add_value("y", {DType::int8, shape});
    graph.inputs = {x};
    graph.outputs = {y};
    auto from = x;
    if (computed) {
      from = graph.add_value("r", {DType::float32, shape});
      graph.add_node({"relu", "Relu", {x}, {from}, {}, {"relu"}});
    }
    graph.add_node({"cast", "Cast", {from}, {q}, {{"to", std::int64_t{info(DType::int8).onnx}}}, {"cast"}});
    graph.add_node({"neg", "Neg", {q}, {y}, {}, {"neg"}});
    runtime::RunResult run;
    run.tensors["q"] = NdArray(DType::int8, shape);
    run.outputs["y"] = NdArray(DType::int8, shape);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      run.tensors["q"].set_int64(static_cast<std::int64_t>(i), steps[i]);
      run.outputs["y"].set_int64(static_cast<std::int64_t>(i), -steps[i] + of_y);
    }
    return check_against_reference(graph, {{"x", NdArray(DType::float32, shape)}}, run, tolerance).value();
  };
  CHECK(check({0, 0}, 0, 1e-4).stepped == 0);
  const auto stepped = check({1, -1}, 0, 1e-4);
  CHECK(stepped.different == 0);
  CHECK(stepped.stepped == 2);
  CHECK(check({1, -1}, 0, 0).different == 2);            // with tolerance 0 floats are the reference's
  CHECK(check({1, -1}, 0, 1e-4, false).different == 2);  // those of the input have one result
  CHECK(check({1, -1, 1}, 0, 1e-4).different == 2);      // more than one in a hundred
  CHECK(check({2}, 0, 1e-4).different == 2);
  CHECK(check({1}, 1, 1e-4).different == 1);  // integer operations on integers are exact
}

TEST_CASE("reference check: steps that one kernel rounds and dequantizes") {
  const Shape shape{200};
  // x -> Relu -> QuantizeLinear -> DequantizeLinear -> d, kept alone -> Neg -> y.
  const auto check = [&](const std::vector<double>& steps, double of_y) {
    graph::Graph graph;
    const auto x = graph.add_value("x", {DType::float32, shape}), r = graph.add_value("r", {DType::float32, shape}),
               q = graph.add_value("q", {DType::int8, shape}), d = graph.add_value("d", {DType::float32, shape}),
               y = graph.add_value("y", {DType::float32, shape});
    const auto scale = graph.add_constant("scale", NdArray::scalar(0.25f)),
               zero = graph.add_constant("zero", NdArray::scalar(std::int8_t{0}));
    graph.inputs = {x};
    graph.outputs = {y};
    graph.add_node({"relu", "Relu", {x}, {r}, {}, {"relu"}});
    graph.add_node({"quantize", "QuantizeLinear", {r, scale, zero}, {q}, {}, {"quantize"}});
    graph.add_node({"dequantize", "DequantizeLinear", {q, scale, zero}, {d}, {}, {"dequantize"}});
    graph.add_node({"neg", "Neg", {d}, {y}, {}, {"neg"}});
    runtime::RunResult run;
    run.tensors["d"] = NdArray(DType::float32, shape);
    run.outputs["y"] = NdArray(DType::float32, shape);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      run.tensors["d"].data<float>()[i] = static_cast<float>(0.25 * steps[i]);
      run.outputs["y"].data<float>()[i] = static_cast<float>(-0.25 * steps[i] + of_y);
    }
    return check_against_reference(graph, {{"x", NdArray(DType::float32, shape)}}, run, 1e-4).value();
  };
  CHECK(check({1, -1}, 0).different == 0);
  CHECK(check({1, -1}, 0).stepped == 2);
  CHECK(check({2}, 0).different == 2);
  CHECK(check({0.5}, 0).different == 2);
  CHECK(check({1, 1, 1}, 0).different == 2);
  CHECK(check({1}, 0.1).different == 1);
}

TEST_CASE("reference check: the index of a maximum is not an integer that was rounded") {
  graph::Graph graph;
  const auto x = graph.add_value("x", {DType::float32, {4}}), r = graph.add_value("r", {DType::float32, {4}}),
             y = graph.add_value("y", {DType::int64, {1}});
  graph.inputs = {x};
  graph.outputs = {y};
  graph.add_node({"relu", "Relu", {x}, {r}, {}, {"relu"}});
  graph.add_node({"argmax", "ArgMax", {r}, {y}, {}, {"argmax"}});
  runtime::RunResult run;
  run.outputs["y"] = NdArray::from<std::int64_t>({1}, {3});
  CHECK(check_against_reference(graph, {{"x", NdArray::from<float>({4}, {1, 2, 9, 3})}}, run, 1e-4)->different == 1);
}

TEST_CASE("reference check: floats of a recurrence that rounds its state may differ by the noise of the rounding") {
  graph::Graph graph;
  const auto x = graph.add_value("x", {DType::float32, {2, 1, 8}}),
             y = graph.add_value("y", {DType::float32, {2, 1, 1, 2}}),
             z = graph.add_value("z", {DType::float32, {2, 1, 1, 2}});
  graph.inputs = {x};
  graph.outputs = {z};
  const auto constant = [&](NdArray array) { return graph.add_constant("c", std::move(array)); };
  graph::Node lstm{"lstm", "dovetail.dynamic_lstm", {x}, {y}, {}, {}};
  for (NdArray array : {NdArray(DType::int8, {1, 2, 8}), NdArray(DType::int32, {1, 8}), NdArray(DType::float32, {1})})
    lstm.inputs.push_back(constant(std::move(array)));
  lstm.attributes["hidden_size"] = std::int64_t{2};
  graph.add_node(lstm);
  graph.add_node({"neg", "Neg", {y}, {z}, {}, {}});
  const NdArray ones = NdArray::from<float>({2, 1, 8}, std::vector<float>(16, 1));
  // Gates of 1: c = s, then s c + s with s = sigmoid(1) tanh(1) and sigmoid(1).
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double in = sigmoid(1) * std::tanh(1), first = sigmoid(1) * std::tanh(in),
               second = sigmoid(1) * std::tanh(sigmoid(1) * in + in);
  const auto with = [&](double difference) {
    const auto f = [](double v) { return static_cast<float>(v); };
    runtime::RunResult run;
    run.tensors["y"] = NdArray::from<float>({2, 1, 1, 2}, {f(first), f(first), f(second), f(second + difference)});
    run.outputs["z"] = NdArray::from<float>({2, 1, 1, 2}, {f(-first), f(-first), f(-second), f(-second - difference)});
    const auto check = check_against_reference(graph, {{"x", ones}}, run, 1e-4);
    REQUIRE((check.ok() ? "" : to_string(check.errors())) == "");
    return *check;
  };
  CHECK((with(0).different == 0 && with(0).stepped == 0));
  // One of four differs: its square is at most four times that of the noise.
  const double most = second / 255 * 2 / std::sqrt(12);
  CHECK((with(most * 0.99).different == 0 && with(most * 0.99).stepped == 1));
  CHECK(with(most * 1.01).different == 2);
}
